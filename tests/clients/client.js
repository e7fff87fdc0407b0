// Submit a plan and print its results until it has ended (proto/, chapters 5 and 8.1):
//
//   node client.js tcp://127.0.0.1:7920 tcp://127.0.0.1:7921 jobs greet world \
//       '{"plan_type": "second", "plan_value": 2, "plan_repet": 3}'
"use strict";

const { CODE, TYPE, pack, unpack } = require("./message");
const { ZmtpSocket } = require("./zmtp");

const [request, publish, target, command, argument, plan] = process.argv.slice(2);
const results = new ZmtpSocket("SUB", publish);
const station = new ZmtpSocket("DEALER", request);
let ident = null;

function end(code) {
    process.exitCode = code;
    station.close();
    results.close();
}

// The results' connection first: what is broadcast before it stands is not heard.
results.once("open", () => {
    const submit = () => station.send(pack(CODE.PLAN, [
        [TYPE.PLAN, plan], [TYPE.STATION_ID, target],
        [TYPE.COMMAND, command], [TYPE.ARG, argument]]));
    if (station.open) submit();
    else station.once("open", submit);
});

station.on("message", (parts) => {
    const reply = unpack(parts);
    if (reply.code !== CODE.PLAN) {
        console.error(`rejected: ${reply.frames[TYPE.STATUS]}`);
        end(1);
        return;
    }
    ident = reply.frames[TYPE.GLOBAL_ID].toString();
    console.log(`accepted as ${ident}, first run at ${reply.frames[TYPE.PLAN_TIME]}`);
});

// [title][description][plan id][the plan after the run][the target's frames]
results.on("message", ([, description, id, stored, ...frames]) => {
    if (id.toString() !== ident) return;
    const types = [...description.subarray(4)];
    const text = frames[types.indexOf(TYPE.TEXT)] || frames[types.indexOf(TYPE.STATUS)] || "";
    console.log(`${description[1] < CODE.FIRST_ERROR ? "ok" : "failed"}: ${text}`);
    if (JSON.parse(stored).plan_state === 7) end(0);
});
