/** Bugs of connectors, planted in ours one at a time. Each has a seed that shows it. */

import type { Mutant } from '../simulation.ts'

const connector = 'packages/kafka/src/connector'
const laneWorker = `${connector}/container/lane-worker.ts`
const member = `${connector}/container/member.ts`
const keyTurns = `${connector}/waiting/key-turns.ts`
const keyChains = `${connector}/waiting/key-chains.ts`
const orderedWorker = `${connector}/waiting/key-ordered-worker.ts`
const waitingBook = `${connector}/waiting/waiting-book.ts`
const waitingLog = `${connector}/waiting/waiting-log.ts`
const waitingAppender = `${connector}/waiting/waiting-appender.ts`
const retryRecord = `${connector}/record/retry-record.ts`

/** Of what is settled and committed. */
const ledgerMutants: readonly Mutant[] = [
  {
    name: 'highest-committed',
    breaks: 'The highest settled offset is committed, not the lowest that is not.',
    file: laneWorker,
    find: 'offset: state.position, metadata: encodeCommitMetadata(state)',
    replace:
      'offset: ([...state.settledAbove].at(-1) ?? state.position - 1n) + 1n, metadata: encodeCommitMetadata(state)',
    seed: 2,
  },
  {
    name: 'settled-before-confirmed',
    breaks: 'A record is settled before its retry or dead letter record is confirmed.',
    file: laneWorker,
    find: "if (!(await this.#writes.confirm(record, outcome.kind === 'DEAD_LETTER' ? 'dlt' : 'retry'))) return",
    replace: "this.#writes.confirm(record, outcome.kind === 'DEAD_LETTER' ? 'dlt' : 'retry').catch(() => {})",
    seed: 1,
  },
  {
    name: 'publish-error-swallowed',
    breaks: 'A retry or dead letter record that could not be written counts as written.',
    file: `${connector}/record/derived-publisher.ts`,
    find: '    const error = new DerivedPublishError(record.topic, result)',
    replace:
      '    if (failures === 0) return { partition: -1, offset: -1n }\n    const error = new DerivedPublishError(record.topic, result)',
    seed: 98,
  },
  {
    name: 'settled-set-not-restored',
    breaks: 'A new owner does not know what was settled above the committed offset.',
    file: `${connector}/container/open-ledger.ts`,
    find: 'return { ledger: new Ledger(read.source), problem: undefined }',
    replace:
      'return { ledger: new Ledger({ ...read.source, settledAbove: ledgerStateAt(position).settledAbove }), problem: undefined }',
    seed: 2,
  },
  {
    name: 'counters-not-restored',
    breaks: 'A new owner begins to count anew.',
    file: `${connector}/container/open-ledger.ts`,
    find: 'return { ledger: new Ledger(read.source), problem: undefined }',
    replace: 'return { ledger: anew, problem: undefined }',
    seed: 1,
  },
  {
    name: 'committed-before-opened',
    breaks: 'A worker that has not read what was committed says where the partition stands.',
    file: laneWorker,
    find: 'const position = this.#isOpened && this.#scope.isRunning ?',
    replace: 'this.#isOpened = true\n    const position = this.#scope.isRunning ?',
    seed: 78,
  },
  {
    name: 'ahead-of-the-watermark',
    breaks: 'How far records may run ahead is counted from what is settled, not from what is committed.',
    file: laneWorker,
    find: 'if (next !== undefined && next.offset < this.#progress.startLimit) return true',
    replace:
      'if (next !== undefined && next.offset < this.#ledger.watermark + BigInt(this.#deps.binding.maxAhead)) return true',
    seed: 2,
  },
  {
    name: 'next-before-commit',
    breaks: 'MANUAL_IMMEDIATE does not wait for the commit of a record before the next.',
    file: laneWorker,
    find: '    if (this.#waitsForCommit) return this.#whenCommitted(work)\n',
    replace: '',
    seed: 1,
  },
  {
    name: 'refused-commit-acknowledged',
    breaks: 'A commit that failed counts as acknowledged.',
    file: `${connector}/container/commit-loop.ts`,
    find: '      if (error instanceof CommitError) this.#takeOutcomes(error, sent)\n      return false',
    replace: '      if (!(error instanceof CommitError)) return false',
    seed: 10,
  },
  {
    name: 'unfinished-drain',
    breaks: 'A partition is given back while its handlers run.',
    file: laneWorker,
    find: `    await this.#scope.drained(this.#deps.runtime.timers, deadlineMs, () => this.#running.size + this.#unconfirmed === 0)
`,
    replace: '',
    seed: 38,
  },
  {
    name: 'no-commit-at-the-end',
    breaks: 'What was settled while a partition drained is not committed.',
    file: member,
    find: '    await this.#commits?.flush(workers, endAt - this.#runtime.clock.monotonic())\n',
    replace: '',
    seed: 23,
  },
]

/** Of lanes, pauses and deliveries. */
const deliveryMutants: readonly Mutant[] = [
  {
    name: 'record-dropped-at-a-pause',
    breaks: 'A record that an open circuit or a stopped partition turned away is forgotten.',
    file: laneWorker,
    find: '    this.#lanes.putBack(work)\n',
    replace: '    this.#lanes.done(work)\n',
    seed: 2,
  },
  {
    name: 'pause-lost-in-a-rebalance',
    breaks: 'Partitions that come while a binding is paused run.',
    file: member,
    find: '      for (const reason of this.#pausedBy()) worker.pause(reason)\n',
    replace: '',
    seed: 73,
  },
  {
    name: 'resume-lost-in-a-rebalance',
    breaks: 'Partitions that come after a pause has ended stay paused.',
    file: `${connector}/container/container.ts`,
    find: '    this.#pausedBy.delete(reason)\n',
    replace: '',
    seed: 27,
  },
  {
    name: 'operator-pauses-nothing-that-is-buffered',
    breaks: 'A paused binding goes on with what it has fetched.',
    file: `${connector}/container/pause-set.ts`,
    find: "  'OPERATOR',\n",
    replace: '',
    seed: 23,
  },
  {
    name: 'open-circuit-not-heeded',
    breaks: 'Handlers are called while the circuit is open.',
    file: 'packages/core/src/breaker/retry-through-breaker.ts',
    find: 'permit?.isValid ? control.beforeAttempt?.(attempt) : new CircuitOpenError(breaker.name, breaker.state),',
    replace: 'CircuitOpenError === undefined ? undefined : control.beforeAttempt?.(attempt),',
    seed: 4,
  },
  {
    name: 'strict-lane-freed-early',
    breaks: 'STRICT goes on before the dead letter is confirmed.',
    file: laneWorker,
    find: "this.#waitsForConfirmation = this.#waitsForCommit || binding.orderingMode === 'STRICT'",
    replace: 'this.#waitsForConfirmation = this.#waitsForCommit',
    seed: 22,
  },
  {
    name: 'keys-side-by-side',
    breaks: 'Records of one key run side by side.',
    file: `${connector}/container/lanes.ts`,
    find: "return new ManyLanes((work) => work.record.key?.toString('latin1'))",
    replace: 'return new ManyLanes(() => undefined)',
    seed: 31,
  },
  {
    name: 'too-many-in-flight',
    breaks: 'Handlers start without a slot.',
    file: `${connector}/container/slots.ts`,
    find: 'if (this.#taken >= this.#size) return false',
    replace: '',
    seed: 4,
  },
  {
    name: 'slot-never-given-back',
    breaks: 'The slot of a handler that failed stays taken.',
    file: keyTurns,
    find: '    slots.release()\n',
    replace: "    if (outcome?.kind === 'DONE') slots.release()\n",
    seed: 4,
  },
  {
    name: 'cancelled-counts-as-failed',
    breaks: 'A delivery that was cut short by the end of an assignment counts as failed.',
    file: `${connector}/delivery/decide-outcome.ts`,
    find: "return { kind: 'PAUSE', cause: 'CANCELLED', failure: undefined }",
    replace: 'return route(classify(ended.error, at.tier), failure, at, settings)',
    seed: 19,
  },
  {
    name: 'one-attempt-too-many',
    breaks: 'A record stays in its tier for one delivery more than it may.',
    file: `${connector}/delivery/decide-outcome.ts`,
    find: 'if (current !== undefined && attempt < current.maxAttempts)',
    replace: 'if (current !== undefined && attempt <= current.maxAttempts)',
    seed: 2,
  },
  {
    name: 'hopeless-record-tried-again',
    breaks: 'An error that no repeat mends is tried again in memory.',
    file: 'packages/core/src/failure/routing.ts',
    find: "return routing === 'NEXT_TIER' || routing === 'SKIP_TO_TIER'",
    replace: 'return routing !== undefined',
    seed: 6,
  },
  {
    name: 'time-out-not-enforced',
    breaks: 'A handler that takes too long is waited for.',
    file: `${connector}/delivery/handler-timeout.ts`,
    find: 'await Promise.race([run(controller.signal), late])',
    replace: 'late.catch(() => {})\n    await run(controller.signal)',
    seed: 3,
  },
  {
    name: 'delay-not-waited-for',
    breaks: 'A record of a tier is delivered as soon as it is read.',
    file: `${connector}/container/due-at.ts`,
    find: 'return dueWithin(publishedAt + delayMs, delayMs, clock)',
    replace: 'return 0 * dueWithin(publishedAt + delayMs, delayMs, clock)',
    seed: 2,
  },
]

/** Of retry records and dead letters. */
const recordMutants: readonly Mutant[] = [
  {
    name: 'attempt-not-carried',
    breaks: 'Each delivery in a tier counts as the first.',
    file: laneWorker,
    find: 'return retryRecord(hop, { topic, tier, attempt })',
    replace: 'return retryRecord(hop, { topic, tier, attempt: Math.min(1, attempt) })',
    seed: 2,
  },
  {
    name: 'calls-not-added-up',
    breaks: 'A record tells of the calls of its last delivery only.',
    file: retryRecord,
    find: 'trail.totalAttempts + (failure?.attempts ?? 0)',
    replace: 'Math.min(0, trail.totalAttempts) + (failure?.attempts ?? 0)',
    seed: 3,
  },
  {
    name: 'coordinates-of-the-last-hop',
    breaks: 'A dead letter tells where the record failed last, not where it came from.',
    file: retryRecord,
    find: 'const { original, replayCount } = hop.trail',
    replace: 'const { replayCount } = hop.trail\n  const original = hop.record',
    seed: 2,
  },
  {
    name: 'headers-pile-up',
    breaks: 'Headers of the engine are added at each hop beside those that are there.',
    file: retryRecord,
    find: '...applicationHeaders(headersOf(record)),',
    replace: '...headersOf(record),',
    seed: 2,
  },
  {
    name: 'forged-headers-believed',
    breaks: 'What a record of the source says about its retries is believed.',
    file: `${connector}/record/trail.ts`,
    find: 'const believed = trustedHeaders(all, kind, groupId)',
    replace: 'const believed = kind === "SOURCE" ? all : trustedHeaders(all, kind, groupId)',
    seed: 1,
  },
  {
    name: 'replays-of-others-handled',
    breaks: 'A replay that is meant for another group is handled.',
    file: `${connector}/record/trail.ts`,
    find: "kind === 'SOURCE' ? isReplayForOtherGroup(all, groupId, record.topic)",
    replace: "kind === 'SOURCE' ? false && isReplayForOtherGroup(all, groupId, record.topic)",
    seed: 1,
  },
]

/** Rules of the waiting topic, taken away one at a time. */
const waitingMutants: readonly Mutant[] = [
  {
    name: 'scan-ends-early',
    breaks: 'Records run before the waiting topic was read up to the own fence.',
    file: waitingAppender,
    find: '      await this.#until(() => this.#readTo > offset)\n',
    replace: '      void offset\n',
    seed: 19,
  },
  {
    name: 'copies-ahead-of-the-source-kept',
    breaks: 'A copy counts although its original will come from the source once more.',
    file: `${connector}/waiting/fold-waiting.ts`,
    find: 'else if (isCovered(read.original.offset)) folding.merge(read as FoldedCopy)',
    replace: 'else if (isCovered !== undefined) folding.merge(read as FoldedCopy)',
    seed: 101,
  },
  {
    name: 'waiting-set-not-restored',
    breaks: 'A new owner does not know which waiting records are settled above the position.',
    file: `${connector}/waiting/open-waiting.ts`,
    find: 'return { source: read.source, waiting: read.waiting, problem: undefined, isAnew: false }',
    replace:
      'return { source: read.source, waiting: { ...read.waiting, settledAbove: ledgerStateAt(read.waiting.position).settledAbove }, problem: undefined, isAnew: false }',
    seed: 21,
  },
  {
    name: 'replay-taken-for-a-copy',
    breaks: 'A replay that was never answered is not delivered by the next owner.',
    file: `${connector}/waiting/fold-waiting.ts`,
    find: "else if (read.kind === 'REPLAY') folding.replays.push(read)",
    replace: "else if (read.kind === 'REPLAY') folding.settle(read.at, 'SKIPPED')",
    seed: 14,
  },
  {
    name: 'release-forgotten-before-the-death',
    breaks: 'A release that comes before the death of its record is settled at once.',
    file: waitingBook,
    find: 'if (this.#entries.has(id) || !isSourceSettled(original.offset)) continue',
    replace: 'if (isSourceSettled === undefined) continue',
    seed: 101,
  },
  {
    name: 'chain-outside-the-lane',
    breaks: 'A record that waited runs beside one of its key that came from the source.',
    file: keyChains,
    find: '  if (isBusy) return undefined\n',
    replace: '  if (isBusy && head === undefined) return undefined\n',
    seed: 63,
  },
  {
    name: 'key-not-blocked',
    breaks: 'Records overtake one of their key that waits for its next attempt.',
    file: keyChains,
    find: `  if (head !== undefined && next !== undefined) return { kind: 'HOLD', lane: id, work: next }
`,
    replace: `  if (head !== undefined && next !== undefined && !isBusy && head.dueAt > now)
    return { kind: 'RUN', lane: id, work: next, entry: undefined }
  if (head !== undefined && next !== undefined) return { kind: 'HOLD', lane: id, work: next }
`,
    seed: 18,
  },
  {
    name: 'key-blocked-at-the-ack',
    breaks: 'A key is blocked when the append is confirmed, not from the decision on.',
    file: waitingBook,
    find: "    return this.#add(newEntry(original, 'HELD', 0))\n  }",
    replace: `    const entry = newEntry(original, 'HELD', 0)
    this.#entries.set(entry.id, entry)
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
    seed: 3,
  },
  {
    name: 'settled-at-the-decision',
    breaks: 'A record of the source is settled before it is in the waiting topic.',
    file: waitingLog,
    find: '{ source: work })\n',
    replace: '{})\n    this.#deps.settleSource(work, "RETRIED")\n    entry.isCounted = false\n',
    seed: 3,
  },
  {
    name: 'old-copy-settled-first',
    breaks: 'A copy is settled before the one that replaces it is in the log.',
    file: waitingBook,
    find: '    append.entry.append = append\n',
    replace: "    append.entry.append = append\n    if (!append.isDeath) this.#settleCopy(append.entry, 'RETRIED')\n",
    seed: 17,
  },
  {
    name: 'dead-key-not-blocked',
    breaks: 'With BLOCK, records behind a dead one of their key run.',
    file: keyTurns,
    find: "if (binding.onDeadKey === 'RELEASE' || work.record.key === null)",
    replace: "if (binding.onDeadKey !== 'RELEASE' || work.record.key === null || true)",
    seed: 4,
  },
  {
    name: 'key-ahead-of-the-watermark',
    breaks: 'With KEY too: how far records may run ahead is counted from what is settled.',
    file: orderedWorker,
    find: 'const limit = this.#progress.startLimit',
    replace: 'const limit = this.#ledger.watermark + BigInt(binding.maxAhead)',
    seed: 3,
  },
  {
    name: 'waiting-delay-not-waited-for',
    breaks: 'A record that waits for its next attempt is delivered as soon as it is read back.',
    file: `${connector}/waiting/due-at.ts`,
    find: 'return dueWithin(dueMs, delayMs, clock)',
    replace: 'return 0 * dueWithin(dueMs, delayMs, clock)',
    seed: 3,
  },
  {
    name: 'dead-letter-not-awaited',
    breaks: 'With KEY a record is dead before its dead letter is confirmed.',
    file: keyTurns,
    find: 'if (!(await this.#publish(record))) return',
    replace: 'this.#publish(record).catch(() => {})',
    seed: 3,
  },
]

/** All of them. */
export const connectorMutants: readonly Mutant[] = [
  ...ledgerMutants,
  ...deliveryMutants,
  ...recordMutants,
  ...waitingMutants,
]
