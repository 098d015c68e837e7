/** Records every call of a listener: its arguments, its effects, and whether it is allowed (I4, I6, I7, I17, I18). */

import {
  type EventEnvelope,
  type ListenerContext,
  NonRetryableError,
  type RetryAfter,
  UnavailableError,
} from '@waybill/core'
import { judgeCall } from './call-checker.ts'
import type { CallOutcome, Decided } from './decided.ts'
import type { CallPlan } from './event-plan.ts'
import type { Call, Ground, Journal, NodeView } from './ground.ts'

const quick: CallPlan = { kind: 'OK', takesMs: 2 }

/** See the file's comment. */
export class DeliveryJournal implements Journal {
  readonly #world: Ground
  readonly #running = new Set<Call>()
  /** By process and event: the last completed call. */
  readonly #decided = new Map<string, Decided>()

  constructor(world: Ground) {
    this.#world = world
  }

  runningOf(eventId: string): Call[] {
    return [...this.#running].filter((call) => call.eventId === eventId)
  }

  runningAt(node: NodeView): Call[] {
    return [...this.#running].filter((call) => call.node === node)
  }

  /** Returns the outcome of a process's last call for an event. */
  decidedBy(process: string, eventId: string): Decided | undefined {
    return this.#decided.get(`${process} ${eventId}`)
  }

  /** Forgets the calls of a process that is gone. */
  forget(node: NodeView): void {
    for (const call of this.runningAt(node)) this.#running.delete(call)
  }

  async listen(node: NodeView, event: EventEnvelope, context: ListenerContext): Promise<void | RetryAfter> {
    const { court, book, server, ownership, rowChecker, roads } = this.#world
    const { eventId } = event
    const record = book.of(eventId)
    const row = server.table.find(eventId)
    const holder = row === undefined ? undefined : ownership.believedHolderOf(row, this.#world.now())
    const version = holder?.process === node.name ? holder.version : undefined
    const call: Call = { node, eventId, attempt: context.attempt, version }
    court.note(node.name, () => `calls ${eventId} (seq ${row?.seq}), attempt ${context.attempt}`)
    judgeCall(this.#world, call, row)
    roads.called(call, this.runningAt(node))
    this.#world.quiet.called(node.name)
    this.#judgeAttempt(call)
    if (row !== undefined) rowChecker.called(row.seq)
    if (version !== undefined && ownership.isSure(this.#world.now())) this.#world.repeats.called(eventId)
    this.#running.add(call)
    const plan = this.#world.isHealed ? quick : (record.plan.calls[record.calls] ?? quick)
    const calls = record.calls++
    try {
      const answer = await this.#perform(plan, node, context)
      const away = answer === undefined ? roads.errorFor(eventId, calls, this.#world.isHealed) : undefined
      if (away !== undefined) throw away
      this.#end(call, answer === undefined ? 'ARRIVED' : 'ASKED', context)
      return answer
    } catch (error) {
      this.#end(call, this.#outcomeOf(call, error, context), context)
      throw error
    }
  }

  /** I23: a failure of the event itself spends an attempt, even if it looks like an outage. */
  #judgeAttempt({ node, eventId, attempt }: Call): void {
    const { court, program, book } = this.#world
    const decided = this.decidedBy(node.name, eventId)
    const isFoundOut = decided?.isFoundOut === true && decided.counts && attempt <= decided.attempt
    if (isFoundOut && program.isCalm && !book.of(eventId).isReplayed && program.mode !== 'ordered')
      court.violate('I23', `${node.name} calls attempt ${attempt} of ${eventId} again, which only looks like an outage`)
  }

  #outcomeOf(call: Call, error: unknown, { signal }: ListenerContext): CallOutcome | 'FOUND_OUT' | 'DOUBTFUL' {
    if (error instanceof NonRetryableError) return 'HOPELESS'
    if (!(error instanceof UnavailableError) || signal.aborted || !this.#running.has(call)) return 'FAILED'
    const verdict = this.#world.roads.failed(call, error)
    if (verdict === 'FOUND_OUT') this.#world.court.reach('outage: an event only looks like one')
    return verdict
  }

  async #perform(plan: CallPlan, { gate }: NodeView, { signal }: ListenerContext): Promise<void | RetryAfter> {
    const { timers } = gate.runtime
    if (plan.kind === 'STUCK') return timers.sleep(plan.takesMs, signal)
    await timers.sleep(plan.takesMs)
    if (plan.kind === 'FAIL') throw new Error('The broker does not answer.')
    if (plan.kind === 'POISON') throw new NonRetryableError('Nobody can read this.')
    if (plan.kind === 'LATER') return { retryAfterMs: 50 + plan.takesMs * 10 }
    if (signal.aborted) this.#world.court.reach('listener: it succeeds after its signal was aborted')
    return undefined
  }

  #end(call: Call, outcome: CallOutcome | 'FOUND_OUT' | 'DOUBTFUL', { signal }: ListenerContext): void {
    const { court, book } = this.#world
    const { node, eventId, attempt, version } = call
    court.note(node.name, () => `${eventId} ${outcome}`)
    if (!this.#running.delete(call)) return
    if (outcome === 'ARRIVED') this.#world.roads.arrived(call)
    this.#world.roads.forget(call)
    this.#decided.set(`${node.name} ${eventId}`, {
      outcome: outcome === 'FOUND_OUT' || outcome === 'DOUBTFUL' ? 'FAILED' : outcome,
      attempt,
      version,
      isFoundOut: outcome === 'FOUND_OUT',
      counts: outcome === 'ARRIVED' || !signal.aborted,
    })
    if (outcome !== 'ARRIVED') return
    const record = book.of(eventId)
    record.arrivals++
    record.arrivalsSinceReplay++
  }
}
