// A worker of a target station that greets whom its jobs name, or waits as many seconds as they
// say, one job at a time. It obeys who cancels a job or drains the worker (proto/targets.md, 7.7 and
// 7.8):
//
//   node worker.js tcp://127.0.0.1:7931 NAME
"use strict";

const { CODE, TYPE, pack, unpack } = require("./message");
const { ZmtpSocket } = require("./zmtp");

const [endpoint, name] = process.argv.slice(2);
const station = new ZmtpSocket("DEALER", endpoint);
let joined = false;
let leaving = false; // no more jobs
let said = false; // LEFT
let hand = null; // the job in hand

const say = (code, ...more) =>
    station.send(pack(code, [name, ...more].map((text) => [TYPE.ARG, text])));
const join = () => say(CODE.JOIN, "1", "cancel"); // one job at once; it takes CLOSE_REQUEST

function beat() {
    if (joined) say(CODE.PITPAT);
    else join();
    if (hand) station.send(pack(CODE.WAITING, [], [hand.mailbox]));
}

function begin(mailbox, { frames }) {
    const command = String(frames[TYPE.COMMAND]), argument = frames[TYPE.ARG] || "";
    const seconds = command === "wait" ? Number(argument) || 0 : 0;
    hand = { mailbox, number: frames[TYPE.LOCAL_ID] || Buffer.alloc(0) };
    hand.timer = setTimeout(() => {
        if (command === "greet") end(CODE.OK, TYPE.TEXT, `hello ${argument}`);
        else if (command === "wait") end(CODE.OK, TYPE.TEXT, "waited");
        else end(CODE.FAILED, TYPE.STATUS, "-failed: only greet");
    }, seconds * 1000);
}

function end(code, type, text) {
    const { mailbox, number, timer } = hand;
    clearTimeout(timer);
    hand = null;
    station.send(pack(code, [[type, text], [TYPE.LOCAL_ID, number]], [mailbox]));
    if (leaving) sayLeft();
    else say(CODE.READY);
}

function takeCancel(mailbox, { frames }) {
    const number = frames[TYPE.LOCAL_ID] || Buffer.alloc(0);
    if (hand && hand.mailbox.equals(mailbox) && hand.number.equals(number))
        end(CODE.FAILED, TYPE.STATUS, "-failed: cancelled");
}

function takeStatus({ code, frames }) {
    console.log(`status ${code.toString(16).padStart(2, "0")} ${frames[TYPE.STATUS] || ""}`);
    if (code === CODE.BYE && said) leave();
    else if (code === CODE.BYE) { // drained: end what is in hand, and leave
        leaving = true;
        if (!hand) sayLeft();
    } else if (joined !== (code === CODE.OK)) { // OK: joined. NOT_FIND: the station does not know us
        joined = !joined;
        forget();
        if (joined) say(CODE.READY);
        else join();
    }
}

function takeMessage(mailbox, message) {
    if (message.code === CODE.CLOSE_REQUEST) takeCancel(mailbox, message);
    else begin(mailbox, message);
}

function forget() { // the station knows nothing of the job
    if (hand) clearTimeout(hand.timer);
    hand = null;
}

function sayLeft() {
    said = true;
    say(CODE.LEFT);
    setTimeout(leave, station.open ? 1000 : 0).unref(); // BYE comes, or nobody is there
}

function leave() {
    forget();
    clearInterval(beating);
    station.close();
}

station.on("open", () => { // a new connection is a new worker
    joined = false;
    forget();
    join();
});
station.on("message", (parts) => {
    const status = unpack(parts);
    if (status) takeStatus(status);
    else takeMessage(parts[0], unpack(parts.slice(1)));
});
const beating = setInterval(beat, 1000);
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, sayLeft);
