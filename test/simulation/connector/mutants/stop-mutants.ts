/** Bugs of the end of a process. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { connector } from './files.ts'

const shutDown = `${connector}/engine/shut-down.ts`

/** See the file's comment. */
export const stopMutants: readonly PlantedBug[] = [
  {
    name: 'resume-detaches-calls',
    breaks: 'A resume of what no operator paused replaces the signal: calls that began before it start after a pause.',
    file: `${connector}/partition/worker-scope.ts`,
    find: "if (this.#state === 'RUNNING' && this.retrying.aborted)",
    replace: "if (this.#state === 'RUNNING')",
  },
  {
    name: 'restarted-record-forgotten',
    breaks: 'A record that starts again in the moment it is put back does not count as running.',
    file: `${connector}/partition/key-order/key-turns.ts`,
    find: 'this.#running.delete(step)',
    replace: 'for (const other of this.#running) if (other.work === step.work) this.#running.delete(other)',
  },
  {
    name: 'stop-goes-on-starting',
    breaks: 'Records are started while a connector waits for its turn to stop.',
    file: shutDown,
    find: "  for (const binding of bindings) if (binding.isOpen) binding.hold('SHUTDOWN')\n",
    replace: '',
    also: [{ file: `${connector}/group/container.ts`, find: "    this.pause('SHUTDOWN')\n", replace: '' }],
  },
  {
    name: 'producer-closed-before-the-drain',
    breaks: 'The producer of retries and dead letters is closed before the handlers have completed.',
    file: shutDown,
    find: '  await Promise.all(\n    bindings.map((binding) => serially',
    replace:
      '  await Promise.all(Array.from(clusters, (cluster) => cluster.close()))\n  await Promise.all(\n    bindings.map((binding) => serially',
  },
  {
    name: 'second-signal-not-heeded',
    breaks: 'A second signal waits as long as the first.',
    file: 'packages/core/src/lifecycle/create-service.ts',
    find: 'this.#deadline?.bringForward(deadlineMs)',
    replace: 'this.#deadline?.remainingMs()',
  },
]
