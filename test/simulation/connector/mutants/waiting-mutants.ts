/** Rules of the waiting topic, removed one at a time. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { connector, keyChains, keyTurns, orderedWorker, waitingAppender, waitingBook, waitingLog } from './files.ts'

/**
 * See the file's comment. Not planted: a replay that becomes runnable when the source has passed its deleted original, and is
 * not announced. In a seed some other event always follows soon, and announces it; waiting-log.test.ts finds the bug.
 */
export const waitingMutants: readonly PlantedBug[] = [
  {
    name: 'scan-ends-early',
    breaks: 'Records run before the waiting topic was read up to the own fence.',
    file: waitingAppender,
    find: '      await this.#until(() => this.#readTo > offset)\n',
    replace: '      void offset\n',
  },
  {
    name: 'copies-ahead-of-the-source-kept',
    breaks: 'A copy counts although the source will deliver its original once more.',
    file: `${connector}/partition/key-order/fold-waiting.ts`,
    find: 'else if (isCovered(read.original.offset)) folding.merge(read as FoldedCopy)',
    replace: 'else if (isCovered !== undefined) folding.merge(read as FoldedCopy)',
  },
  {
    name: 'waiting-set-not-restored',
    breaks: 'A new owner does not know which waiting records are settled above the position.',
    file: `${connector}/partition/key-order/open-waiting.ts`,
    find: 'return { source: read.source, waiting: read.waiting, problem: undefined, isAnew: false }',
    replace:
      'return { source: read.source, waiting: { ...read.waiting, settledAbove: ledgerStateAt(read.waiting.position).settledAbove }, problem: undefined, isAnew: false }',
  },
  {
    name: 'replay-taken-for-a-copy',
    breaks: 'A replay that was never answered is not delivered by the next owner.',
    file: `${connector}/partition/key-order/fold-waiting.ts`,
    find: "else if (read.kind === 'REPLAY') folding.replays.push(read)",
    replace: "else if (read.kind === 'REPLAY') folding.settle(read.at, 'SKIPPED')",
  },
  {
    name: 'release-forgotten-before-the-death',
    breaks: 'A release that comes before the death of its record is settled at once.',
    file: waitingBook,
    find: '(outcome !== undefined || this.#deps.isSourceSettled(copy.original.offset))',
    replace: "(outcome !== undefined || copy.kind === 'RELEASE' || this.#deps.isSourceSettled(copy.original.offset))",
  },
  {
    name: 'chain-outside-the-lane',
    breaks: 'A waiting record runs concurrently with one of its key from the source.',
    file: keyChains,
    find: "  if (running === 'SOURCE') return undefined\n",
    replace: "  if (running === 'SOURCE' && head === undefined) return undefined\n",
  },
  {
    name: 'key-not-blocked',
    breaks: 'Records overtake one of their key that waits for its next attempt.',
    file: keyChains,
    find: `  if (head !== undefined && next !== undefined && !isUnverified(next)) return { kind: 'HOLD', lane: id, work: next }
`,
    replace: `  if (head !== undefined && next !== undefined && running === 'NOTHING' && head.dueAt > now)
    return { kind: 'RUN', lane: id, work: next, entry: undefined }
  if (head !== undefined && next !== undefined && !isUnverified(next)) return { kind: 'HOLD', lane: id, work: next }
`,
  },
  {
    name: 'key-blocked-at-the-ack',
    breaks: 'A key is blocked when the append is confirmed, not from the decision on.',
    file: waitingBook,
    find: "    return this.#add(newEntry(original, 'HELD', 0))\n  }",
    replace: `    const entry = newEntry(original, 'HELD', 0)
    this.#entries.add(entry)
    const block = (): void => this.#deps.chains.block(entry)
    let append: Append | undefined
    Object.defineProperty(entry, 'append', {
      get: () => append,
      set: (next: Append | undefined) => {
        if (append !== undefined && next === undefined && entry.at === undefined) block()
        append = next
      },
    })
    return entry
  }`,
  },
  {
    name: 'settled-at-the-decision',
    breaks: 'A record of the source is settled before it is in the waiting topic.',
    file: waitingLog,
    find: '{ source: work })\n',
    replace: '{})\n    this.#deps.settleSource(work, "RETRIED")\n    entry.isCounted = false\n',
  },
  {
    name: 'old-copy-settled-first',
    breaks: 'A copy is settled before the one that replaces it is in the log.',
    file: waitingBook,
    find: '    append.entry.append = append\n',
    replace: "    append.entry.append = append\n    if (!append.isDeath) this.#settleCopy(append.entry, 'RETRIED')\n",
  },
  {
    name: 'dead-key-not-blocked',
    breaks: 'With BLOCK, records behind a dead one of their key run.',
    file: keyTurns,
    find: "if (binding.onDeadKey === 'RELEASE' || work.record.key === null)",
    replace: "if (binding.onDeadKey !== 'RELEASE' || work.record.key === null || true)",
  },
  {
    name: 'key-ahead-of-the-watermark',
    breaks: 'With KEY the limit of records ahead is counted from the settled offset.',
    file: orderedWorker,
    find: 'const limit = this.#progress.startLimit',
    replace: 'const limit = this.#ledger.watermark + BigInt(binding.maxAhead)',
  },
  {
    name: 'waiting-delay-not-waited-for',
    breaks: 'A record that waits for its next attempt is delivered as soon as it is read back.',
    file: `${connector}/partition/key-order/copy-due-at.ts`,
    find: 'return dueWithin(dueMs, delayMs, clock)',
    replace: 'return 0 * dueWithin(dueMs, delayMs, clock)',
  },
  {
    name: 'dead-letter-not-awaited',
    breaks: 'With KEY a record is dead before its dead letter is confirmed.',
    file: keyTurns,
    find: 'if (!(await this.#publish(record))) return',
    replace: 'this.#publish(record).catch(() => {})',
  },
  {
    name: 'span-not-kept',
    breaks: 'The lowest copy is never written again, and the state in commits grows without limit.',
    file: waitingLog,
    find: '    if (!this.isTooLong) return\n',
    replace: '    if (this.isOpen) return\n',
  },
  {
    name: 'marker-first',
    breaks: 'A key is marked as dead before the dead letter of its record is confirmed.',
    file: keyTurns,
    find: '    if (!(await this.#publish(record))) return\n',
    replace: `    const isBlocking = binding.onDeadKey !== 'RELEASE' && work.record.key !== null
    if (isBlocking) log.block(work, step.lane, entry)
    if (!(await this.#publish(record))) return
    if (isBlocking) return this.#free(step)
`,
  },
  {
    name: 'no-heartbeat-after-the-epoch',
    breaks: 'An owner that takes an epoch after a doubt does not confirm its membership with the group.',
    file: waitingAppender,
    find: '      if (this.#isDoubtful) await this.#confirmMembership()\n',
    replace: '',
  },
  {
    name: 'no-heartbeat-after-a-fence',
    breaks: 'A fenced owner takes the next epoch without confirming its membership with the group.',
    file: waitingAppender,
    find: '      this.#isDoubtful = true\n      await this.#confirmMembership()\n',
    replace: '',
  },
  {
    name: 'held-behind-a-running-record',
    breaks:
      'A record is written to the waiting topic while one of its key from the source runs, because a replay has come.',
    file: keyChains,
    find: "  if (running === 'SOURCE') return undefined\n",
    replace: "  if (running === 'SOURCE' && (head === undefined || next === undefined)) return undefined\n",
  },
  {
    name: 'replay-delivered-before-its-outcome',
    breaks: 'A replay that holds the position back is delivered although its original has no outcome.',
    file: waitingBook,
    find: '    if (request !== undefined) return request.move === undefined',
    replace: `    if (request?.copy.kind === 'REPLAY' && !this.#entries.has(request.id)) {
      this.#requests.drop(request)
      this.#admit(request.copy, 'HELD')
      return undefined
    }
    if (request !== undefined) return request.move === undefined`,
  },
  {
    name: 'request-dropped-when-it-is-the-lowest',
    breaks: 'A request that holds the position back is settled without a result.',
    file: waitingBook,
    find: '    if (request !== undefined) return request.move === undefined',
    replace: `    if (request !== undefined && request.move === undefined) this.#dismiss(request)
    if (request !== undefined) return request.move === undefined`,
  },
]
