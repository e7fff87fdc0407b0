// A worker of a target station that greets whom its jobs name (proto/README.md, 7.7):
//
//   node worker.js tcp://127.0.0.1:7931 NAME
"use strict";

const { CODE, TYPE, pack, unpack } = require("./message");
const { ZmtpSocket } = require("./zmtp");

const [endpoint, name] = process.argv.slice(2);
const station = new ZmtpSocket("DEALER", endpoint);
let joined = false;

const say = (code) => station.send(pack(code, [[TYPE.ARG, name]]));

function work({ frames }) {
    if (String(frames[TYPE.COMMAND]) !== "greet")
        return [CODE.FAILED, TYPE.STATUS, "-failed: only greet"];
    return [CODE.OK, TYPE.TEXT, `hello ${frames[TYPE.ARG]}`];
}

function takeStatus({ code, frames }) {
    console.log(`told ${code.toString(16).padStart(2, "0")} ${frames[TYPE.STATUS] || ""}`);
    if (code === CODE.BYE) leave();
    else if (joined !== (code === CODE.OK)) { // OK: joined. NOT_FIND: the station does not know us
        joined = !joined;
        say(joined ? CODE.READY : CODE.JOIN);
    }
}

function takeJob(mailbox, job) {
    const [code, type, text] = work(job);
    station.send(pack(code, [[type, text], [TYPE.LOCAL_ID, job.frames[TYPE.LOCAL_ID]]], [mailbox]));
    say(CODE.READY);
}

function leave() {
    clearInterval(beat);
    station.close();
}

station.on("open", () => { // a new connection is a new worker
    joined = false;
    say(CODE.JOIN);
});
station.on("message", (parts) => {
    const status = unpack(parts);
    if (status) takeStatus(status);
    else takeJob(parts[0], unpack(parts.slice(1)));
});
const beat = setInterval(() => say(joined ? CODE.PITPAT : CODE.JOIN), 1000);
for (const signal of ["SIGTERM", "SIGINT"])
    process.on(signal, () => {
        say(CODE.LEFT);
        setTimeout(leave, station.open ? 1000 : 0).unref(); // BYE comes, or nobody is there
    });
