/** Bugs of transactional bindings, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { type PlantedBug, withRecordedSeeds } from '../world/recorded-seeds.ts'

const transaction = 'packages/kafka/src/connector/transaction'
const member = 'packages/kafka/src/connector/container/member.ts'

const bugs: readonly PlantedBug[] = [
  {
    name: 'abort-forgotten',
    breaks: 'What failed is not aborted before it is written again: some of it is there twice.',
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
      '    return [{ ...this.#at, epoch: this.epoch, offset }] as never\n  }\n\n  committed(): void {}',
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
    breaks: 'The offset is read while a former owner may still commit, and what it has under way is not waited for.',
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
    breaks: 'What a call has sent before it failed is written with what the next one sends.',
    file: `${transaction}/outputs.ts`,
    find: '    this.#call = new Call(this.#maxBytes)\n',
    replace:
      '    const before = this.#call?.records ?? []\n    this.#call = new Call(this.#maxBytes)\n    this.#call.records.push(...before)\n',
    also: [
      {
        file: `${transaction}/outputs.ts`,
        find: '    this.#call?.close()\n    this.#call = undefined\n',
        replace: '    this.#call?.close()\n',
      },
    ],
  },
  {
    name: 'outputs-of-failed-records-written',
    breaks: 'What the last call of a record has sent is written beside its retry or dead letter record.',
    file: `${transaction}/decided.ts`,
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
    breaks: 'A partition that is given back commits what it has read, and not only what was decided.',
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
]

/** Which seed finds each of them. `npm run sim -- transaction --record` writes it anew when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

/** All of them. */
export const transactionMutants: readonly Mutant[] = withRecordedSeeds(bugs, seedFile)
