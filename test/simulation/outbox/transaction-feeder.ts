/** The application: transactions that write events, and callers that wait until one is published. */

import { createEnvelope, UnknownCommitError } from '@waybill/core'
import { EventDeadError, EventRolledBackError, PublishedUnknownError } from '@waybill/outbox'
import type { SimTx } from '@waybill/sim/internal'
import type { EventPlan, TransactionPlan } from './event-plan.ts'
import type { OutboxNode } from './outbox-node.ts'
import type { World } from './world.ts'

/** An intended rollback. */
class RollbackWanted extends Error {}

/** Maximum delay between delivery and the notification of a waiting caller, when nothing fails. */
const tellingMs = 2_500

/** See the file's comment. A transaction that fails is not repeated: the table says what is there. */
export class TransactionFeeder {
  readonly #world: World
  readonly #pickNode: (index: number) => OutboxNode | undefined
  #left: number

  /** @param pickNode - returns a live process, the one with this number if it is alive */
  constructor(world: World, pickNode: (index: number) => OutboxNode | undefined) {
    this.#world = world
    this.#pickNode = pickNode
    this.#left = world.program.transactions.length
  }

  get isDone(): boolean {
    return this.#left === 0
  }

  run(): void {
    for (const plan of this.#world.program.transactions) void this.#begin(plan)
  }

  async #begin(plan: TransactionPlan): Promise<void> {
    const { timers } = this.#world.runtime
    await timers.sleep(plan.atMs)
    let node = this.#pickNode(plan.node)
    while (node === undefined) {
      await timers.sleep(100)
      node = this.#pickNode(plan.node)
    }
    await Promise.race([this.#carryOut(node, plan), node.dead])
    this.#left--
  }

  async #carryOut(node: OutboxNode, plan: TransactionPlan): Promise<void> {
    const { court } = this.#world
    const outbox = node.outbox
    try {
      await (plan.kind === 'FOREIGN' ? this.#writeForeign(node, plan) : this.#writeSeen(node, plan))
    } catch (error) {
      court.note(node.name, () => `transaction of ${plan.events[0]?.id}: ${String(error)}`)
      if (error instanceof UnknownCommitError) this.#reachUnknown(plan)
    }
    if (plan.publishedWithinMs !== null) await this.#askPublished(node, outbox, plan, plan.publishedWithinMs)
  }

  #reachUnknown({ events: [first] }: TransactionPlan): void {
    const { book, court } = this.#world
    const isCommitted = first !== undefined && book.of(first.id).end === 'COMMITTED'
    court.reach(
      isCommitted
        ? 'commit: its answer is lost and it is committed'
        : 'commit: its answer is lost and it is rolled back',
    )
  }

  async #writeSeen(node: OutboxNode, plan: TransactionPlan): Promise<void> {
    await node.database.transaction(async (tx) => {
      await this.#lockKeys(tx, plan)
      await this.#writeAll(node, tx, plan)
      await node.gate.runtime.timers.sleep(plan.holdMs)
      if (plan.isRolledBack) throw new RollbackWanted('This transaction is not to be.')
    })
  }

  async #writeForeign(node: OutboxNode, plan: TransactionPlan): Promise<void> {
    const tx = await node.database.begin()
    try {
      await this.#lockKeys(tx, plan)
      await this.#writeAll(node, tx, plan)
      await node.gate.runtime.timers.sleep(plan.holdMs)
      if (plan.isRolledBack) throw new RollbackWanted('This transaction is not to be.')
    } catch (error) {
      await tx.rollback()
      throw error
    }
    await tx.commit()
  }

  /** Locks the aggregates first: the order of their events is guaranteed only under that lock. */
  async #lockKeys(tx: SimTx, { events }: TransactionPlan): Promise<void> {
    const keys = new Set(events.flatMap(({ key }) => key ?? []))
    for (const key of [...keys].toSorted()) await tx.lock(key)
  }

  async #writeAll(node: OutboxNode, tx: SimTx, { events, undone, kind }: TransactionPlan): Promise<void> {
    const write = (some: readonly EventPlan[]): Promise<unknown> =>
      kind === 'AMBIENT'
        ? node.outbox.writer.writeAll(some.map((plan) => envelopeOf(plan, this.#payloadOf(plan))))
        : this.#writeEach(node, tx, some)
    const kept = events.length - undone
    await write(events.slice(0, kept))
    if (undone === 0) return
    const savepoint = await tx.savepoint()
    await write(events.slice(kept))
    await savepoint.rollback()
  }

  async #writeEach({ outbox }: OutboxNode, tx: SimTx, events: readonly EventPlan[]): Promise<void> {
    const now = this.#world.runtime.clock.now()
    for (const plan of events) {
      const { id, isLost, delayMs } = plan
      await outbox.write(tx, isLost ? 'order.lost' : 'order.placed', this.#payloadOf(plan), {
        eventId: id,
        ...(delayMs === null ? {} : { availableAt: now + delayMs }),
      })
    }
  }

  #payloadOf({ id, key }: EventPlan): { readonly key: string | null; readonly padding?: string } {
    const padding = this.#world.program.sizes.padding.get(id)
    return padding === undefined ? { key } : { key, padding: 'x'.repeat(padding) }
  }

  /** Checks that published() reports the truth, or that the outcome is unknown. */
  async #askPublished(
    node: OutboxNode,
    outbox: OutboxNode['outbox'],
    { events, kind }: TransactionPlan,
    deadlineMs: number,
  ): Promise<void> {
    const { court, book, program, now } = this.#world
    const id = (events[0] as EventPlan).id
    const record = book.of(id)
    try {
      await outbox.published(id, { deadlineMs })
      court.reach('published: it reports the delivery')
      if (record.arrivals === 0) court.violate('PUBLISHED', `${node.name} is notified that ${id} arrived; it did not`)
    } catch (error) {
      if (error instanceof EventDeadError) {
        court.reach('published: it reports the death')
        if (!record.wasDead) court.violate('PUBLISHED', `${node.name} is notified that ${id} is dead; it never was`)
      } else if (error instanceof EventRolledBackError) {
        court.reach('published: it reports the rollback')
        if (record.end === 'COMMITTED')
          court.violate('PUBLISHED', `${node.name} is notified of a rollback of ${id}, which is committed`)
      } else if (error instanceof PublishedUnknownError) {
        court.reach('published: the outcome is unknown at the deadline')
        const { whenDone, purge } = program.options
        // A row deleted before any query sees it leaves no trace, unless its commit was observed and covered all its
        // rows.
        const isTraceless =
          whenDone === 'DELETE'
            ? kind === 'FOREIGN' || record.mayBeUndone
            : purge !== false && purge.doneAfterMs < tellingMs
        if (
          program.isCalm &&
          !isTraceless &&
          node.isStarted &&
          record.doneAt !== undefined &&
          now() - record.doneAt > tellingMs
        )
          court.violate('PUBLISHED', `${node.name} is not notified that ${id} arrived ${now() - record.doneAt} ms ago`)
      } else court.violate('PUBLISHED', `${node.name} asks for ${id}: ${String(error)}`)
    }
  }
}

function envelopeOf({ id, key, isLost }: EventPlan, payload: object) {
  return createEnvelope({
    eventId: id,
    eventType: isLost ? 'order.lost' : 'order.placed',
    aggregateId: key,
    payloadJson: JSON.stringify(payload),
  })
}
