/** Bugs of lanes, pauses and deliveries. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { connector, keyTurns, laneWorker, member } from './files.ts'

/** See the file's comment. */
export const deliveryMutants: readonly PlantedBug[] = [
  {
    name: 'record-dropped-at-a-pause',
    breaks: 'A record that an open circuit or a stopped partition turned away is forgotten.',
    file: laneWorker,
    find: '    this.#lanes.putBack(work)\n',
    replace: '    this.#lanes.done(work)\n',
  },
  {
    name: 'pause-lost-in-a-rebalance',
    breaks: 'Partitions that come while a binding is paused run.',
    file: member,
    find: '      for (const reason of this.#pausedBy()) worker.pause(reason)\n',
    replace: '',
  },
  {
    name: 'resume-lost-in-a-rebalance',
    breaks: 'Partitions that come after a pause has ended stay paused.',
    file: `${connector}/container/container.ts`,
    find: '    this.#pausedBy.delete(reason)\n',
    replace: '',
  },
  {
    name: 'operator-pauses-nothing-that-is-buffered',
    breaks: 'A paused binding goes on with what it has fetched.',
    file: `${connector}/container/pause-set.ts`,
    find: "  'OPERATOR',\n",
    replace: '',
  },
  {
    name: 'open-circuit-not-heeded',
    breaks: 'Handlers are called while the circuit is open.',
    file: 'packages/core/src/breaker/retry-through-breaker.ts',
    find: 'permit?.isValid ? control.beforeAttempt?.(attempt) : new CircuitOpenError(breaker.name, breaker.state),',
    replace: 'CircuitOpenError === undefined ? undefined : control.beforeAttempt?.(attempt),',
  },
  {
    name: 'strict-lane-freed-early',
    breaks: 'STRICT goes on before the dead letter is confirmed.',
    file: laneWorker,
    find: "this.#waitsForConfirmation = this.#waitsForCommit || binding.orderingMode === 'STRICT'",
    replace: 'this.#waitsForConfirmation = this.#waitsForCommit',
  },
  {
    name: 'keys-side-by-side',
    breaks: 'Records of one key run side by side.',
    file: `${connector}/container/lanes.ts`,
    find: "return new ManyLanes((work) => work.record.key?.toString('latin1'))",
    replace: 'return new ManyLanes(() => undefined)',
  },
  {
    name: 'too-many-in-flight',
    breaks: 'Handlers start without a slot.',
    file: `${connector}/container/slots.ts`,
    find: 'if (this.#taken >= this.#size) return false',
    replace: '',
  },
  {
    name: 'slot-never-given-back',
    breaks: 'The slot of a handler that failed stays taken.',
    file: keyTurns,
    find: '    slots.release()\n',
    replace: "    if (outcome?.kind === 'DONE') slots.release()\n",
  },
  {
    name: 'cancelled-counts-as-failed',
    breaks: 'A delivery that was cut short by the end of an assignment counts as failed.',
    file: `${connector}/delivery/decide-outcome.ts`,
    find: "return { kind: 'PAUSE', cause: 'CANCELLED', failure: undefined }",
    replace: 'return route(classify(ended.error, at.tier), failure, at, settings)',
  },
  {
    name: 'one-attempt-too-many',
    breaks: 'A record stays in its tier for one delivery more than it may.',
    file: `${connector}/delivery/decide-outcome.ts`,
    find: 'if (current !== undefined && attempt < current.maxAttempts)',
    replace: 'if (current !== undefined && attempt <= current.maxAttempts)',
  },
  {
    name: 'hopeless-record-tried-again',
    breaks: 'An error that no repeat mends is tried again in memory.',
    file: 'packages/core/src/failure/routing.ts',
    find: "return routing === 'NEXT_TIER' || routing === 'SKIP_TO_TIER'",
    replace: 'return routing !== undefined',
  },
  {
    name: 'time-out-not-enforced',
    breaks: 'A handler that takes too long is waited for.',
    file: `${connector}/delivery/handler-timeout.ts`,
    find: 'await Promise.race([run(controller.signal), late])',
    replace: 'late.catch(() => {})\n    await run(controller.signal)',
  },
  {
    name: 'delay-not-waited-for',
    breaks: 'A record of a tier is delivered as soon as it is read.',
    file: `${connector}/container/due-at.ts`,
    find: 'return dueWithin(publishedAt + delayMs, delayMs, clock)',
    replace: 'return 0 * dueWithin(publishedAt + delayMs, delayMs, clock)',
  },
  {
    name: 'skip-not-followed',
    breaks: 'An error that skips to a tier goes to the next one.',
    file: `${connector}/delivery/decide-outcome.ts`,
    find: 'return retryLater(decision.targetTier, failure, at, settings)',
    replace: 'return retryLater(undefined, failure, at, settings)',
  },
  {
    name: 'due-and-left-lying',
    breaks: 'A record of a tier is delivered a quarter of a minute after it is due.',
    file: laneWorker,
    find: 'work.dueAt = dueAtOf(work, place.delayMs, runtime.clock)',
    replace: 'work.dueAt = 15_000 + dueAtOf(work, place.delayMs, runtime.clock)',
  },
  {
    name: 'one-partition-pauses-all',
    breaks: 'A partition that pauses takes the others of its member along.',
    file: laneWorker,
    find: 'consumer.pause([this.#at])',
    replace: 'consumer.pause(consumer.assignment())',
  },
  {
    name: 'mark-of-the-hop',
    breaks: 'A handler is told where the copy lies in place of the original, so that its mark does not fit a repeat.',
    file: `${connector}/handler/delivery-context.ts`,
    find: 'return this.#place.trail.original',
    replace: 'return this.record',
  },
]
