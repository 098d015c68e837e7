/** Bugs that outlive an assignment, a commit or a log. */

import type { PlantedEdit } from '../../simulation.ts'
import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { connector, laneWorker, member, recordSettler } from './files.ts'

const groupConsumer = 'packages/kafka/src/client/consume/group-consumer.ts'

/**
 * Removes the client's guards behind the connector's own: those against partitions that are gone and earlier
 * assignments.
 */
const clientCommitsAnything: readonly PlantedEdit[] = [
  {
    file: groupConsumer,
    find: "if (owned === undefined) return 'it is not owned any more'",
    replace: 'if (owned === undefined) return undefined',
  },
  { file: groupConsumer, find: 'if (owned.epoch !== offset.epoch)', replace: 'if (owned.epoch < offset.epoch)' },
]

/** Asks a finished worker for its commit once more. */
const workerCommitsForEver: readonly PlantedEdit[] = [
  {
    file: laneWorker,
    find: 'this.#isOpened && !this.#scope.isEnded ? this.#account.pending() : undefined',
    replace: 'this.#isOpened ? this.#account.pending() : undefined',
  },
]

/** See the file's comment. */
export const assignmentMutants: readonly PlantedBug[] = [
  {
    name: 'old-epoch-timer',
    breaks: 'A wait before the next attempt continues after its assignment is over, and the handler is called again.',
    file: `${connector}/partition/worker-scope.ts`,
    find: "    this.#abort('The partition is lost: another member may handle this record too.')\n",
    replace: '',
  },
  {
    name: 'old-epoch-result',
    breaks: 'The result of a handler is settled and committed after its assignment is over.',
    file: recordSettler,
    find: '    if (this.#scope.isEnded) return undefined\n    if (!this.#shell.isOfEra(work)',
    replace: '    if (!this.#shell.isOfEra(work)',
    also: [
      ...workerCommitsForEver,
      ...clientCommitsAnything,
      {
        file: member,
        find: '      worker.lose()\n',
        replace:
          '      worker.lose()\n      void this.#runtime.timers.sleep(300).then(() => this.#commits?.flush([worker], 1_000))\n',
      },
    ],
  },
  {
    name: 'commit-after-revocation',
    breaks: 'Offsets settled in an assignment are committed once more after it is over.',
    file: member,
    find: '    this.#release(workers, false)\n',
    replace: `    this.#release(workers, false)
    for (const worker of workers) worker.repeatCommit()
    void this.#runtime.timers.sleep(300).then(() => this.#commits?.flush(workers, 1_000))
`,
    also: [...workerCommitsForEver, ...clientCommitsAnything],
  },
  {
    name: 'loss-not-reported',
    breaks: 'The loss of records deleted before they were read is not reported.',
    file: `${connector}/engine/binding-runs.ts`,
    find: '        losses.positionLost(binding.label, event.loss)\n',
    replace: '',
  },
  {
    name: 'loss-forgotten-by-health',
    breaks: 'Lost records do not turn health DOWN.',
    file: `${connector}/health/connector-watch.ts`,
    find: '        losses: losses.of(binding.label),\n',
    replace: '        losses: [],\n',
  },
  {
    name: 'stall-not-seen',
    breaks: 'A stalled partition does not turn health DOWN while its member sends heartbeats.',
    file: `${connector}/health/connector-watch.ts`,
    find: 'stalls: this.#stalls.filter((stall) => stall.binding === binding.label),',
    replace: 'stalls: [],',
  },
  {
    name: 'tier-begins-at-its-end',
    breaks: 'A tier is read from the end that its topic has when the first reader starts.',
    file: member,
    find: "startFrom: place.kind === 'TIER' ? 'EARLIEST' : binding.startFrom,",
    replace: 'startFrom: binding.startFrom,',
  },
]
