/** Bugs of settled and committed offsets. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { connector, laneWorker, member, recordMover, recordSettler } from './files.ts'

/** See the file's comment. */
export const ledgerMutants: readonly PlantedBug[] = [
  {
    name: 'highest-committed',
    breaks: 'The highest settled offset is committed, not the lowest that is not.',
    file: laneWorker,
    find: 'offset: state.position, metadata: encodeCommitMetadata(state)',
    replace:
      'offset: ([...state.settledAbove].at(-1) ?? state.position - 1n) + 1n, metadata: encodeCommitMetadata(state)',
  },
  {
    name: 'settled-before-confirmed',
    breaks: 'A record is settled before its dead letter is confirmed.',
    file: recordMover,
    find: "if (!(await this.#writes.confirm(written, 'dlt'))) return undefined",
    replace: "this.#writes.confirm(written, 'dlt').catch(() => {})",
  },
  {
    name: 'retried-before-confirmed',
    breaks: 'A record is settled before its retry record is confirmed.',
    file: recordMover,
    find: "return (await this.#writes.confirm(record, 'retry')) ? 'RETRIED' : undefined",
    replace: "this.#writes.confirm(record, 'retry').catch(() => {})\n      return 'RETRIED'",
  },
  {
    name: 'publish-error-swallowed',
    breaks: 'A retry or dead letter record that could not be written counts as written.',
    file: `${connector}/records/derived-publisher.ts`,
    find: '    const error = new DerivedPublishError(record.topic, result)',
    replace:
      '    if (failures === 0) return { partition: -1, offset: -1n }\n    const error = new DerivedPublishError(record.topic, result)',
  },
  {
    name: 'settled-set-not-restored',
    breaks: 'A new owner does not know the offsets settled above the committed one.',
    file: `${connector}/ledger/open-ledger.ts`,
    find: 'return { ledger: new Ledger(read.source), problem: undefined }',
    replace:
      'return { ledger: new Ledger({ ...read.source, settledAbove: ledgerStateAt(position).settledAbove }), problem: undefined }',
  },
  {
    name: 'counters-not-restored',
    breaks: 'A new owner begins to count anew.',
    file: `${connector}/ledger/open-ledger.ts`,
    find: 'return { ledger: new Ledger(read.source), problem: undefined }',
    replace: 'return { ledger: anew, problem: undefined }',
  },
  {
    name: 'committed-before-opened',
    breaks: 'A worker reports a position before it has read the committed offset.',
    file: laneWorker,
    find: 'const position = this.#isOpened && this.#scope.isRunning ?',
    replace: 'this.#isOpened = true\n    const position = this.#scope.isRunning ?',
  },
  {
    name: 'ahead-of-the-watermark',
    breaks: 'The limit of records ahead is counted from the settled offset, not from the committed one.',
    file: laneWorker,
    find: 'next.distance < this.#account.startLimit',
    replace: 'next.offset < this.#account.watermark + BigInt(this.#deps.binding.maxAhead)',
  },
  {
    name: 'next-before-commit',
    breaks: 'MANUAL_IMMEDIATE does not wait for the commit of a record before the next.',
    file: recordSettler,
    find: '    if (this.#waitsForCommit) return this.#whenCommitted(work)\n',
    replace: '',
  },
  {
    name: 'refused-commit-acknowledged',
    breaks: 'A commit that failed counts as acknowledged.',
    file: `${connector}/group/commit-loop.ts`,
    find: '      if (error instanceof CommitError) this.#applyOutcomes(error, sent)\n      return false',
    replace: '      if (!(error instanceof CommitError)) return false',
  },
  {
    name: 'unfinished-drain',
    breaks: 'A partition is released while its handlers run.',
    file: laneWorker,
    find: '() => this.#runningCount + this.#unconfirmed === 0',
    replace: '() => this.#runningCount + this.#unconfirmed >= 0',
  },
  {
    name: 'no-commit-at-the-end',
    breaks: 'Records settled while a partition drained are not committed.',
    file: member,
    find: '    await this.#commits?.flush(workers, endAt - this.#runtime.clock.monotonic())\n',
    replace: '',
  },
]
