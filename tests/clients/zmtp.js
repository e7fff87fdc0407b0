// A ZeroMQ socket by hand: a DEALER or a SUB that connects, over ZMTP 3.0 with the mechanism NULL
// (ZeroMQ RFC 23). No identity, no heartbeats, no queue: what is sent without a connection is lost.
//
// Events: "open" when a connection stands, "message" with an array of Buffers. A connection that is
// lost is tried again until close().
"use strict";

const { EventEmitter } = require("events");
const net = require("net");

const MORE = 1, LONG = 2, COMMAND = 4; // flags of a frame
const GREETING_SIZE = 64, RETRY_MS = 200;

function greeting() {
    const bytes = Buffer.alloc(GREETING_SIZE);
    bytes.writeUInt8(0xff, 0);
    bytes.set([1, 0x7f, 3, 0], 8); // the signature's end, version 3.0
    bytes.write("NULL", 12);
    return bytes;
}

function frame(flags, body) {
    const long = body.length > 255;
    const head = Buffer.alloc(long ? 9 : 2);
    head.writeUInt8(flags | (long ? LONG : 0), 0);
    if (long) head.writeBigUInt64BE(BigInt(body.length), 1);
    else head.writeUInt8(body.length, 1);
    return Buffer.concat([head, body]);
}

function ready(type) {
    return frame(COMMAND, Buffer.concat([
        Buffer.from("\x05READY\x0bSocket-Type"), Buffer.from([0, 0, 0, type.length]),
        Buffer.from(type)]));
}

class ZmtpSocket extends EventEmitter {
    constructor(type, endpoint) { // tcp://HOST:PORT or ipc://PATH
        super();
        this.type = type;
        const [, host, port, path] = /^tcp:\/\/(.*):(\d+)$|^ipc:\/\/(.*)$/.exec(endpoint);
        this.address = path ? { path } : { host, port: Number(port) };
        this.connect();
    }

    connect() {
        this.input = Buffer.alloc(0);
        this.greeted = this.open = false;
        this.parts = [];
        this.stream = net.connect(this.address);
        this.stream.write(Buffer.concat([greeting(), ready(this.type)]));
        this.stream.on("data", (bytes) => this.take(bytes));
        this.stream.on("error", () => {}); // "close" follows
        this.stream.on("close", () => {
            this.open = false;
            if (!this.closed) setTimeout(() => this.closed || this.connect(), RETRY_MS);
        });
    }

    take(bytes) {
        this.input = Buffer.concat([this.input, bytes]);
        if (!this.greeted) {
            if (this.input.length < GREETING_SIZE) return;
            this.input = this.input.subarray(GREETING_SIZE);
            this.greeted = true;
        }
        while (this.takeFrame());
    }

    takeFrame() {
        const head = this.input[0] & LONG ? 9 : 2;
        if (this.input.length < head) return false;
        const size = head === 9 ? Number(this.input.readBigUInt64BE(1)) : this.input[1];
        if (this.input.length < head + size) return false;
        const flags = this.input[0];
        const body = Buffer.from(this.input.subarray(head, head + size));
        this.input = this.input.subarray(head + size);
        if (flags & COMMAND) this.takeCommand(body);
        else this.takePart(body, flags & MORE);
        return true;
    }

    takeCommand(body) {
        if (body.toString("latin1", 1, 6) !== "READY") return; // an ERROR closes the connection
        this.open = true;
        if (this.type === "SUB") this.send([Buffer.from([1])]); // subscribe to everything
        this.emit("open");
    }

    takePart(body, more) {
        this.parts.push(body);
        if (more) return;
        const parts = this.parts;
        this.parts = [];
        this.emit("message", parts);
    }

    send(parts) {
        const last = parts.length - 1;
        if (this.open)
            this.stream.write(Buffer.concat(
                parts.map((part, i) => frame(i < last ? MORE : 0, part))));
    }

    close() { // what was sent before still leaves
        this.closed = true;
        this.stream.end();
    }
}

module.exports = { ZmtpSocket };
