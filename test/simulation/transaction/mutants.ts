/** Bugs of transactional bindings, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { type PlantedBug, withRecordedSeeds } from '../world/recorded-seeds.ts'

const transaction = 'packages/connector/src/partition/transaction'
const member = 'packages/connector/src/group/member.ts'
const handlerTimeout = 'packages/connector/src/delivery/handler-timeout.ts'

const bugs: readonly PlantedBug[] = [
  {
    name: 'abort-forgotten',
    breaks: 'A failed transaction is not aborted before it is written again: some outputs are there twice.',
    file: `${transaction}/transaction-writer.ts`,
    find: '      await this.#producer?.abort()\n',
    replace: '      if (this.#producer === undefined) await this.#discard()\n',
  },
  {
    name: 'offsets-outside-the-transaction',
    breaks: 'The offset is committed beside the transaction.',
    file: `${transaction}/transaction-worker.ts`,
    find: '    return undefined\n  }\n\n  committed(): void {}',
    replace:
      '    const offset = this.#loop?.position ?? 0n\n' +
      '    return [{ ...this.#shell.at, epoch: this.epoch, offset }] as never\n  }\n\n  committed(): void {}',
  },
  {
    name: 'no-offsets-in-the-transaction',
    breaks: 'Outputs are committed without the offset.',
    file: `${transaction}/transaction-writer.ts`,
    find: 'producer.sendOffsets([offset], group)',
    replace: 'producer.sendOffsets(offset.offset % 2n === 0n ? [offset] : [], group)',
  },
  {
    name: 'nobody-fenced-at-assignment',
    breaks: 'The offset is read while a transaction of a former owner may still commit.',
    file: member,
    find: '    if (transactional === false) return\n',
    replace: '    if (transactional !== undefined) return\n',
    also: [
      {
        file: 'packages/kafka/src/client/consume/start-offsets.ts',
        find: 'requireStable: true',
        replace: 'requireStable: false',
      },
    ],
  },
  {
    name: 'outputs-of-failed-calls-kept',
    breaks: 'Outputs of a failed call are written with those of the next one.',
    file: 'packages/connector/src/handlers/outputs.ts',
    find: '    this.#call = new Call(this.#maxBytes)\n',
    replace:
      '    const before = this.#call?.records ?? []\n    this.#call = new Call(this.#maxBytes)\n    this.#call.records.push(...before)\n',
    also: [
      {
        file: 'packages/connector/src/handlers/outputs.ts',
        find: '    this.#call?.close()\n    this.#call = undefined\n',
        replace: '    this.#call?.close()\n',
      },
    ],
  },
  {
    name: 'outputs-of-failed-records-written',
    breaks: 'Outputs of the last failed call are written beside the retry or dead letter record.',
    file: `${transaction}/decided-record.ts`,
    find: 'return { work, outcome, as, records, bytes:',
    replace:
      "records = as === 'DEAD' ? [...records, ...(work.outputs?.take() ?? [])] : records\n  return { work, outcome, as, records, bytes:",
  },
  {
    name: 'unknown-end-taken-for-success',
    breaks: 'A commit whose answer was lost counts as done.',
    file: `${transaction}/transaction-writer.ts`,
    find: '    await producer.commit()\n',
    replace:
      "    await producer.commit().catch((error) => {\n      if (error.kind !== 'UNKNOWN') throw error\n      this.#producer = undefined\n    })\n",
  },
  {
    name: 'unknown-end-taken-for-failure',
    breaks: 'A commit whose answer was lost is written again, though it may have been done.',
    file: `${transaction}/transaction-writer.ts`,
    find: 'if (this.#isInDoubt && (await this.#isCommitted(transaction.offset))) {',
    replace: 'if (this.#isInDoubt && (await this.#isCommitted(transaction.offset)) && this.#committed === -1n) {',
  },
  {
    name: 'queued-records-taken-for-holes',
    breaks: 'A released partition commits the records it has read, and not only those decided.',
    file: `${transaction}/transaction-loop.ts`,
    find: 'return this.#deps.scope.isRunning && this.#decided.length === 0 && !this.#deps.hasUndecided()',
    replace: 'return this.#decided.length === 0 && !this.#deps.hasUndecided()',
  },
  {
    name: 'retry-record-outside-the-transaction',
    breaks: 'Records for a tier are written at once, and not with the offset.',
    file: `${transaction}/transaction-loop.ts`,
    find: '    this.#decided.push(decided)\n    this.#bytes += decided.bytes\n',
    replace:
      "    if (decided.as === 'RETRIED') {\n" +
      '      void this.#deps.worker.publisher.publish(decided.records[0] as never, this.#deps.watch)\n' +
      '      decided = { ...decided, records: [] }\n' +
      '    }\n    this.#decided.push(decided)\n    this.#bytes += decided.bytes\n',
  },
  {
    name: 'paused-partitions-go-on',
    breaks: 'Handlers start though an operator has paused the binding.',
    file: `${transaction}/transaction-worker.ts`,
    find: 'if (!this.#scope.isRunning || this.#shell.pauses.isHalted || ',
    replace: 'if (!this.#scope.isRunning || ',
  },
  {
    name: 'pause-forgotten-at-assignment',
    breaks: 'A partition assigned to a paused binding is not paused.',
    file: member,
    find: '      for (const reason of this.#shared.pausedBy()) worker.pause(reason)\n',
    replace: "      for (const reason of this.#shared.pausedBy()) if (reason !== 'OPERATOR') worker.pause(reason)\n",
  },
  {
    name: 'passed-over-records-handled',
    breaks: 'Records that an operator has skipped are handled.',
    file: `${transaction}/transaction-loop.ts`,
    find: '    return !this.#state.settledAbove.has(offset)\n',
    replace: '    return true\n',
  },
  {
    name: 'refused-outputs-dropped',
    breaks: 'A record whose output is refused counts as handled, without it.',
    file: `${transaction}/reconsider.ts`,
    find: '    work.outputs?.refuse(',
    replace: '    kept.push({ ...part, records: [] })\n    if (kept.length > 0) continue\n    work.outputs?.refuse(',
  },
  {
    name: 'neighbours-of-the-refused-fail',
    breaks: 'When one output is refused, all unconfirmed ones are refused with it.',
    file: `${transaction}/transaction-writer.ts`,
    find: " || cause.kind === 'ABORTABLE') return undefined",
    replace: ') return undefined',
  },
  {
    name: 'handler-timeout-ignored',
    breaks: 'Outputs that a call sends after its timeout are written.',
    file: handlerTimeout,
    find: 'Promise.race([run(controller.signal), late])',
    replace: 'Promise.race([run(controller.signal)])',
    also: [{ file: handlerTimeout, find: '    reject(error)\n', replace: '    void reject\n' }],
  },
  {
    name: 'sends-after-the-call-kept',
    breaks: 'Outputs that a handler sends after it has returned are written, if there is time.',
    file: 'packages/connector/src/handlers/outputs.ts',
    find: '    if (this.#isOver)\n',
    replace: '    if (this.#isOver && this.records.length > 1_000)\n',
  },
  {
    name: 'given-back-while-it-is-written',
    breaks: 'A partition is released while its transaction is open, and its next owner starts over.',
    file: `${transaction}/transaction-worker.ts`,
    find: '!this.#isHandling && this.#loop?.isIdle !== false',
    replace: '!this.#isHandling',
  },
  {
    name: 'gaps-not-passed',
    breaks: 'A position does not pass offsets without records: markers, and those deleted by retention.',
    file: `${transaction}/transaction-loop.ts`,
    find: '    if (position > this.#reached) this.#reached = position\n',
    replace: '',
  },
]

/** The seeds that find the mutants. `npm run sim -- transaction --record` updates them when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

/** All mutants of transactional bindings. */
export const transactionMutants: readonly Mutant[] = withRecordedSeeds(bugs, seedFile)
