/** Bugs on the way from a transaction to the listener, and back into the table. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { decision, delivery, dispatcher, inFlight, poller, publications, relay, settler, writer } from './files.ts'

/** See the file's comment. */
export const deliveryMutants: readonly PlantedBug[] = [
  {
    name: 'hot-before-commit',
    breaks: 'Rows go to the listener as soon as they are inserted.',
    file: writer,
    find: 'if (needsEnd && tx.endIsSeen) watchEnd(tx, events, seqs, reservation, availableAt)',
    replace: "if (typeof reservation !== 'string') reservation.commit(seqs)",
  },
  {
    name: 'unknown-taken-for-committed',
    breaks: 'A commit whose answer was lost counts as done.',
    file: writer,
    find: "if (typeof reservation !== 'string') reservation.cancel(end === 'UNKNOWN' ? seqs : [])",
    replace:
      "if (typeof reservation !== 'string') end === 'UNKNOWN' ? reservation.commit(seqs) : reservation.cancel([])",
  },
  {
    name: 'slots-not-released-on-rollback',
    breaks: 'A transaction that is rolled back keeps its places in the hot queue.',
    file: dispatcher,
    find: 'this.#reserved -= count',
    replace: 'this.#reserved -= Math.min(0, count)',
  },
  {
    name: 'reservation-kept-in-flight',
    breaks: 'An event of an unknown commit stays in flight, and nobody here delivers it.',
    file: relay,
    find: 'for (const { eventId } of taken) inFlight.release(eventId, null)',
    replace: 'for (const { eventId } of taken.slice(0, 0)) inFlight.release(eventId, null)',
  },
  {
    name: 'in-flight-not-checked',
    breaks: 'A row that is being delivered is delivered again when it is read again.',
    file: inFlight,
    find: 'if (this.#releasedDuringLook.has(id) || (this.#held.has(id) && !this.#isStale(id))) return false',
    replace: 'if (this.#releasedDuringLook.has(id)) return false',
  },
  {
    name: 'look-shows-the-past',
    breaks: 'A row that was finished while the table was read counts as new.',
    file: inFlight,
    find: 'if (this.#looks > 0) this.#releasedDuringLook.add(id)',
    replace: 'if (this.#looks < 0) this.#releasedDuringLook.add(id)',
  },
  {
    name: 'done-before-the-listener',
    breaks: 'A row is DONE before its listener has ended.',
    file: delivery,
    find: 'const answer = await listener(event, row)',
    replace: 'const answer = void listener(event, row).catch(() => {})',
  },
  {
    name: 'failure-taken-for-done',
    breaks: 'An event whose listener failed counts as delivered.',
    file: delivery,
    find: 'outcome = decide(thrown, row)',
    replace: 'decide(thrown, row)',
  },
  {
    name: 'attempts-forgotten',
    breaks: 'Each delivery counts as the first.',
    file: relay,
    find: "const row = new HeldRow(seq, event, attempts, 'COLD', hold)",
    replace: "const row = new HeldRow(seq, event, Math.min(0, attempts), 'COLD', hold)",
  },
  {
    name: 'one-attempt-too-many',
    breaks: 'An event is tried once more than its attempts.',
    file: decision,
    find: 'const plan = retry.plan({ error, attempt: attemptsBefore + 1 }, random)',
    replace: 'const plan = retry.plan({ error, attempt: attemptsBefore }, random)',
  },
  {
    name: 'hopeless-tried-again',
    breaks: 'An event that no repeat can mend is tried again.',
    file: decision,
    find: ': cannotHelp(error)',
    replace: ': cannotHelp(error) && false',
  },
  {
    name: 'finish-not-repeated',
    breaks: 'A finish without an answer counts as done.',
    file: settler,
    find: 'const changed = await this.#tryStatement(batch, failures)',
    replace: 'const changed = (await this.#tryStatement(batch, failures)) ?? batch.rows.map(({ seq }) => seq)',
  },
  {
    name: 'finish-counted-twice',
    breaks: 'Rows of a repeated finish count as fenced.',
    file: settler,
    find: "this.#confirm(batch, changed, failures === 0 ? 'FENCED' : 'UNKNOWN')",
    replace: "this.#confirm(batch, changed, 'FENCED')",
  },
  {
    name: 'too-many-at-a-time',
    breaks: 'One listener more runs than there are worker slots.',
    file: dispatcher,
    find: 'this.#running.size < workerCount && settler.hasRoom',
    replace: 'this.#running.size <= workerCount && settler.hasRoom',
  },
  {
    name: 'stop-waits-for-nobody',
    breaks: 'A stop does not wait for listeners and outcomes.',
    file: relay,
    find: 'await this.#settler.drain(deadline.signal)',
    replace: 'void this.#settler.drain(deadline.signal)',
  },
  {
    name: 'retries-not-looked-for',
    breaks: 'Rows that wait for their time are never read again.',
    file: poller,
    find: 'const looksForRetries = isDue ||',
    replace: 'const looksForRetries = isDue && now < 0 && ',
  },
  {
    name: 'rollback-told-of-an-unknown-commit',
    breaks: 'A caller is told of a rollback when nobody knows.',
    file: publications,
    find: "if (end === 'UNKNOWN') this.#memory.forget(eventId)",
    replace: "if (end !== 'UNKNOWN' && eventId === '') this.#memory.forget(eventId)",
  },
  {
    name: 'published-while-it-waits',
    breaks: 'A caller is told of the delivery as soon as the row is there.',
    file: publications,
    find: 'if (status !== undefined) waiter.wasThere = true',
    replace: 'if (status !== undefined) this.#end(waiter)',
  },
]
