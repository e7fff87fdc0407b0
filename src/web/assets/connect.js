// How a worker is connected: three lines in each language.
import {Copy, html} from './ui.js';
import {t} from './text.js';

const shells = {
  Shell: `zplan target add reports=pull\nzplan work reports ./report.sh\nzplan add --target reports --command report --daily 2:00`,
  Python: `from zplan import Worker\nworker = Worker("tcp://127.0.0.1:7920", "reports")\nworker.serve(lambda job: b"done")`,
  C: `zplan_worker *worker = zplan_worker_new ("tcp://127.0.0.1:7920", "reports");\nzplan_worker_serve (worker, on_job, NULL);`,
};

export function Connect() {
  return html`<h2>${t('Connect your first worker')}</h2><p>${t('Where the station is, with its address:')}</p>${Object.entries(shells).map(([name, text]) =>
    html`<h3>${name} <${Copy} text=${text} /></h3><pre>${text}</pre>`)}`;
}
