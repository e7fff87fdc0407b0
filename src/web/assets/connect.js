// How a worker is connected: three lines in each language.
import {Copy, html} from './ui.js';
import {t} from './text.js';

// A target whose plans workers fetch from the station.
const texts = {
  Shell: `zplan target add reports=pull
zplan add --target reports --command report --arg hello
zplan work --pull reports -- cat`,
  Python: `from zplan import PullWorker
worker = PullWorker("reports", "tcp://127.0.0.1:7920")
worker.command("report")(lambda job: "done")
worker.run()`,
  C: `struct zplan_worker *worker = zplan_worker_new (&(struct zplan_worker_options){
    .endpoint = "tcp://127.0.0.1:7920", .name = "reporter", .pull = "reports"});
zplan_worker_handle (worker, "report", on_report, NULL);
zplan_worker_run (worker, -1);`,
};

export function Connect() {
  return html`<h2>${t('Connect your first worker')}</h2><p>${t('On the machine of the station, as it stands here. On another one replace the address; in a shell set ZPLAN_CONNECT=tcp://HOST:7920 first.')}</p>${Object.entries(texts).map(([name, text]) =>
    html`<h3>${name} <${Copy} text=${text} /></h3><pre>${text}</pre>`)}`;
}
