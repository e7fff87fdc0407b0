// The same load for BullMQ, through its own library: one line of JSON, as zplan-bench prints it.
//   intake: jobs with a far delay, a window of `add` calls unanswered
//   drain:  jobs that are due at one instant, a worker that does nothing; done when BullMQ says
//           `completed`, which is when Redis has it
// NODE_PATH names the folder in which bullmq and ioredis are installed.
"use strict";

const { Queue, Worker } = require("bullmq");
const Redis = require("ioredis");

const FAR_MS = 30 * 86400 * 1000;
const BULK = 1000;

function read_options(argv) {
    const options = {
        command: argv[0], redis: "", plans: 10000, window: 1000, argument: 200, due_in: 10,
        concurrency: 200, start_at: 0, warm: 5000,
    };
    for (let i = 1; i < argv.length; i += 2) {
        const name = argv[i].replace(/^--/, "").replace(/-/g, "_");
        if (!(name in options) || i + 1 === argv.length)
            throw new Error(`no such option: ${argv[i]}`);
        options[name] = typeof options[name] === "number" ? Number(argv[i + 1]) : argv[i + 1];
    }
    return options;
}

function connect(options) {
    return new Redis({ path: options.redis, maxRetriesPerRequest: null });
}

function sleep_until(ms) {
    return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms - Date.now())));
}

function now_us() {
    return Math.round((performance.timeOrigin + performance.now()) * 1000);
}

function share(sorted, part) {
    return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] : null;
}

// One of the window's places: adds one job after the other.
async function add_jobs(queue, data, state) {
    while (state.left > 0) {
        state.left--;
        const begin = performance.now();
        await queue.add("bench", data, { delay: FAR_MS, removeOnComplete: true });
        state.latencies.push(performance.now() - begin);
    }
}

// What node has not compiled yet is slow; that is not what is compared.
async function warm_up(connection, data, options) {
    const queue = new Queue(`warm-${process.pid}`, { connection });
    const state = { left: options.warm, latencies: [] };
    const places = Array.from({ length: options.window }, () => add_jobs(queue, data, state));
    await Promise.all(places);
    await queue.obliterate({ force: true });
    await queue.close();
}

async function intake(options) {
    const connection = connect(options);
    const queue = new Queue("bench", { connection });
    const state = { left: options.plans, latencies: [] };
    const data = { argument: "x".repeat(options.argument) };
    await queue.waitUntilReady();
    await warm_up(connection, data, options);
    if (options.start_at)
        await sleep_until(options.start_at);
    const begin_us = now_us();
    const places = Array.from({ length: options.window }, () => add_jobs(queue, data, state));
    await Promise.all(places);
    const end_us = now_us();
    const sorted = state.latencies.sort((a, b) => a - b);
    await queue.close();
    connection.disconnect();
    return {
        bench: "bullmq_intake", accepted: options.plans, begin_us, end_us,
        plans_per_s: options.plans * 1e6 / (end_us - begin_us),
        acknowledged_ms: { count: sorted.length, p50: share(sorted, 0.5), p99: share(sorted, 0.99) },
    };
}

async function submit_due(queue, options, due_ms) {
    const data = { argument: "x".repeat(options.argument) };
    for (let at = 0; at < options.plans; at += BULK) {
        const jobs = [];
        const delay = Math.max(0, due_ms - Date.now());
        for (let i = at; i < Math.min(at + BULK, options.plans); i++)
            jobs.push({ name: "bench", data, opts: { delay, removeOnComplete: true } });
        await queue.addBulk(jobs);
    }
}

async function drain(options) {
    const connection = connect(options);
    const queue = new Queue("bench", { connection });
    await queue.waitUntilReady();
    const due_ms = Date.now() + options.due_in * 1000;
    await submit_due(queue, options, due_ms);
    const late_ms = Date.now() - due_ms;
    let done = 0, first_us = 0, first_ms = 0;
    const worker_connection = connect(options);
    const worker = new Worker("bench", async () => {
        if (!first_us) {
            first_us = now_us();
            first_ms = Date.now();
        }
    }, { connection: worker_connection, concurrency: options.concurrency });
    await new Promise((resolve, reject) => {
        worker.on("completed", () => {
            if (++done === options.plans)
                resolve();
        });
        worker.on("failed", (job, error) => reject(error));
    });
    const last_us = now_us();
    await worker.close();
    await queue.close();
    connection.disconnect();
    worker_connection.disconnect();
    return {
        bench: "bullmq_drain", done, runs_per_s: options.plans * 1e6 / (last_us - first_us),
        first_after_due_ms: late_ms < 0 ? first_ms - due_ms : null,
    };
}

const options = read_options(process.argv.slice(2));
const commands = { intake, drain };
if (!(options.command in commands)) {
    console.error("bullmq.js: intake or drain");
    process.exit(2);
}
commands[options.command](options).then((result) => {
    console.log(JSON.stringify(result));
    process.exit(0);
}, (error) => {
    console.error(error);
    process.exit(1);
});
