// Messages of zplan/1: a description - count, code, a type per frame, END - and its frames
// (proto/wire.md).
"use strict";

const TYPE = { GLOBAL_ID: 1, STATION_ID: 2, STATUS: 3, PLAN: 5, PLAN_TIME: 6, LOCAL_ID: 8,
               COMMAND: 0x24, ARG: 0x25, TEXT: 0x54 };
const CODE = { OK: 0x01, PLAN: 0x02, JOIN: 0x4a, READY: 0x52, PITPAT: 0x50, LEFT: 0x4c,
               BYE: 0x04, WAITING: 0x22, CLOSE_REQUEST: 0x2d, FAILED: 0x82, FIRST_ERROR: 0x80 };

// `frames` are pairs of a type and a string or Buffer.
function pack(code, frames, envelope = []) {
    const types = frames.map(([type]) => type);
    return [...envelope, Buffer.from([types.length, code, ...types, 0]),
            ...frames.map(([, bytes]) => Buffer.from(bytes))];
}

// {code, frames}, the last frame of each type counts; null if the description does not fit.
function unpack([description, ...parts]) {
    if (description.length < parts.length + 2 || description[0] !== parts.length) return null;
    return { code: description[1],
             frames: Object.fromEntries(parts.map((part, i) => [description[2 + i], part])) };
}

module.exports = { CODE, TYPE, pack, unpack };
