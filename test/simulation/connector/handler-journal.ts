/** Runs handlers, and records each call: its record, its owner, its duration and its outcome. */

import {
  BatchProcessingError,
  type Binding,
  type Connector,
  type DeliveryContext,
  HandlerTimeoutError,
  handleEvents,
} from '@waybill/connector'
import { type OriginalPlace } from '@waybill/connector/internal'
import type { Inbox } from '@waybill/core'
import { defineEvents, NonRetryableError, type StandardSchema } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { SimProcess } from '../world/sim-process.ts'
import { type Behaviour, type BindingPlan, skippingError } from './binding-plan.ts'
import type { ConsumerWatch } from './consumer-watch.ts'
import type { DeduplicationPlan } from './deduplication-plan.ts'
import type { EffectStore } from './effect-store.ts'
import type { EpochWatch } from './epoch-watch.ts'
import { type Evidence, placeName } from './evidence.ts'
import type { Ground } from './ground.ts'
import type { MarkTx } from './mark-tx.ts'
import type { Hindrance } from './obstruction.ts'
import type { RareState } from './rare-states.ts'
import { eventName } from './record-plan.ts'
import { sourceTopic } from './source-topic.ts'

/** The process in which a handler runs. */
export interface HandlerProcess {
  readonly name: string
  readonly sim: SimProcess
  readonly state: 'LIVING' | 'STOPPING' | 'STOPPED' | 'DEAD'
  readonly connector: Connector
  /** Bindings that an operator has paused here, with the time of the pause. */
  readonly paused: ReadonlyMap<string, number>
  /** One watch for each consumer created here. */
  readonly consumerWatches: readonly ConsumerWatch[]
  /** Epochs of waiting topics. */
  readonly epochs: EpochWatch
  /** How often bindings were stopped and restarted here. */
  readonly restarts: number
  /** Returns true when a binding is registered here. */
  has(name: string): boolean
  /** Returns true when it ran and drained at that time: no call may start. */
  isDrainingAt(at: number): boolean
}

/** Observes calls. */
export interface CallWatch {
  started(call: Call): void
  /** Runs on every outcome, including a timeout. */
  ended(call: Call): void
  succeeded(call: Call): void
  failed(call: Call): void
}

/** Observes calls of handlers that use marks for deduplication. */
export interface MarkWatch {
  started(call: Call): void
  succeeded(call: Call): void
  /** Checks the records of one batch handler call. */
  checkBatch(binding: BindingPlan, records: readonly KafkaRecord[]): void
}

/** Creates inboxes for handlers. */
interface Inboxes {
  inboxOf(plan: DeduplicationPlan, process: HandlerProcess): Inbox<MarkTx>
}

/** One call of a handler. */
export interface Call {
  readonly binding: BindingPlan
  readonly process: HandlerProcess
  /** The group member that delivers, in its assignment. */
  readonly owner: string
  readonly id: string
  readonly record: KafkaRecord
  readonly tier: number
  /** Within the delivery, from 1. */
  readonly attempt: number
  /** True for all but the first record of a batch handler's call: their start is not checked. */
  readonly isContinued: boolean
  readonly signal: AbortSignal
  /** The original place of the record, as the engine reports it. */
  readonly original: OriginalPlace
  /** The transaction of its inbox. */
  readonly tx: MarkTx | undefined
  state: 'RUNNING' | 'OK' | 'FAILED'
}

/** Context of a call, for any kind of handler. */
type CallContext = Pick<DeliveryContext, 'tier' | 'attempt' | 'signal' | 'headers' | 'record' | 'original'> & {
  readonly tx?: MarkTx | undefined
}

const schema: StandardSchema<{ index: number }> = {
  '~standard': {
    version: 1,
    vendor: 'simulation',
    validate: (value) =>
      typeof (value as { index?: unknown }).index === 'number'
        ? { value: value as { index: number } }
        : { issues: [{ message: 'index must be a number' }] },
  },
}

const catalog = defineEvents({
  [eventName.handled]: { topic: sourceTopic, schema, key: () => null },
  [eventName.unhandled]: { topic: sourceTopic, schema, key: () => null },
})

/** Returns true when the engine has timed out the call and no longer waits for it. */
export function isGivenUp({ signal }: Call): boolean {
  return signal.aborted
}

/** Dependencies of the journal. */
type Known = Ground & {
  readonly evidence: Evidence
  readonly callChecker: CallWatch
  readonly effects: EffectStore
  readonly marks: MarkWatch
  readonly markServer: Inboxes
}

/** Runs handlers. */
export class HandlerJournal {
  /** Running calls of live processes. */
  readonly running = new Set<Call>()
  readonly #world: Known

  constructor(world: Known) {
    this.#world = world
  }

  /** Returns the handler of a binding in a process. */
  handlerOf(binding: BindingPlan, process: HandlerProcess): Binding<MarkTx>['handler'] {
    const handle = (record: KafkaRecord, context: CallContext): Promise<void> | void =>
      this.#call(binding, process, record, context)
    if (binding.handlesBatches)
      return { handleBatch: (records, context) => this.#callAll(binding, process, records, context) }
    if (!this.#world.program.areEvents) return handle
    const { deduplicate } = binding
    const inbox = deduplicate?.isOfHandler === true ? this.#world.markServer.inboxOf(deduplicate, process) : undefined
    return handleEvents(
      catalog,
      { [eventName.handled]: (_event, context) => handle(context.record, context) },
      { inbox },
    )
  }

  /** Calls one after the other, as long as the engine waits for it. */
  async #callAll(
    binding: BindingPlan,
    process: HandlerProcess,
    records: readonly KafkaRecord[],
    context: CallContext,
  ): Promise<void> {
    const { tier, attempt, signal, headers, record } = context
    this.#world.marks.checkBatch(binding, records)
    for (const [index, one] of records.entries()) {
      const { topic, partition, offset } = one
      const original = index === 0 ? context.original : { topic, partition, offset }
      try {
        signal.throwIfAborted()
        await this.#call(binding, process, one, { tier, attempt, signal, headers, record, original }, index > 0)
      } catch (cause) {
        throw new BatchProcessingError(index, { cause })
      }
    }
    if (records.length > 1) this.#world.court.reach('batch: a handler takes many records at once')
  }

  /** Forgets the calls of a dead process. */
  forget(process: HandlerProcess): void {
    for (const call of this.running) {
      if (call.process !== process) continue
      this.running.delete(call)
      if (call.tx !== undefined) this.#world.court.reach('inbox: a process dies within a transaction')
    }
  }

  #call(
    binding: BindingPlan,
    process: HandlerProcess,
    record: KafkaRecord,
    { tier, attempt, signal, headers, original, tx }: CallContext,
    isContinued = false,
  ): Promise<void> | void {
    const { evidence, court, runtime, callChecker, marks } = this.#world
    evidence.update()
    const id = record.headers.text('id') ?? ''
    const owner = `${process.name} ${headers.text('x-eventbus-consumer-instance')} ${process.restarts} ${record.epoch}`
    const call: Call = {
      binding,
      process,
      owner,
      id,
      record,
      tier,
      attempt,
      isContinued,
      signal,
      original,
      tx,
      state: 'RUNNING',
    }
    court.note(
      process.name,
      () => `${binding.name} handles ${id} of ${placeName(record)} epoch ${record.epoch}, attempt ${attempt}`,
    )
    runtime.note(placeName(record))
    callChecker.started(call)
    marks.started(call)
    const fate = evidence.fate(id, binding)
    if (fate === undefined) return
    fate.calls++
    const copy = placeName(record)
    if ((fate.deliveries.get(copy) ?? owner) !== owner) fate.isRedelivered = true
    fate.deliveries.set(copy, owner)
    this.running.add(call)
    signal.addEventListener('abort', () => {
      if (call.state !== 'RUNNING' || !(signal.reason instanceof HandlerTimeoutError)) return
      fate.failures++
      fate.timeOuts++
      callChecker.ended(call)
    })
    return this.#act(call, fate.calls)
  }

  #act(call: Call, number: number): Promise<void> | void {
    const { draw } = this.#world
    const { behaviours, handlerMs } = call.binding
    const behaviour = behaviours[Number(call.id.slice(1))] as Behaviour
    const ms = draw.between(0, handlerMs)
    const hindrance = this.#hindranceOf(call)
    const failure = hindrance === undefined ? this.#failureOf(call.binding, behaviour, number) : failures[hindrance]
    // Some complete synchronously, without a promise.
    const isQuick = behaviour.kind === 'OK' && (handlerMs === 0 || draw.chance(0.2))
    if (failure === undefined && hindrance === undefined && isQuick) return this.#succeed(call)
    return this.#work(call, behaviour, number, ms, failure)
  }

  #hindranceOf({ binding, id }: Call): Hindrance | undefined {
    const { obstruction, evidence, court } = this.#world
    const original = evidence.originals.get(id)
    const hindrance = original === undefined ? undefined : obstruction.hinders(binding, original.record)
    if (hindrance !== undefined) court.reach(hindranceStates[hindrance])
    return hindrance
  }

  async #work(
    call: Call,
    behaviour: Behaviour,
    number: number,
    ms: number,
    failure: Thrown | undefined,
  ): Promise<void> {
    const { timers } = call.process.sim.runtime
    await timers.sleep(behaviour.kind === 'SLOW' ? behaviour.ms : ms)
    if (behaviour.kind === 'HANG' && number <= behaviour.times) await new Promise(() => {})
    if (behaviour.kind === 'LATE' && number <= behaviour.times) await timers.sleep(1_000)
    if (failure === stuck) await this.#world.obstruction.ended
    if (failure === undefined || failure === stuck) return this.#succeed(call)
    this.#fail(call)
    throw failure.thrown
  }

  #failureOf({ down }: BindingPlan, behaviour: Behaviour, number: number): Thrown | undefined {
    const at = this.#world.sinceStart()
    if (down !== undefined && at >= down.fromMs && at < down.fromMs + down.forMs)
      return { thrown: new Error('what the handler needs is down') }
    switch (behaviour.kind) {
      case 'FAIL':
        return number > behaviour.times ? undefined : { thrown: thrownBy(behaviour.throws, number) }
      case 'ALWAYS':
        return { thrown: thrownBy(behaviour.throws, number) }
      case 'FATAL':
        return { thrown: new NonRetryableError('cannot succeed') }
      case 'OK':
      case 'SLOW':
      case 'HANG':
      case 'LATE':
        return undefined
    }
  }

  #succeed(call: Call): void {
    const { court, callChecker, marks } = this.#world
    this.running.delete(call)
    callChecker.ended(call)
    court.note(
      call.process.name,
      () => `${call.binding.name} has handled ${call.id}${isGivenUp(call) ? ', too late' : ''}`,
    )
    // The engine has reported this call as failed: it settles nothing.
    if (call.signal.aborted && call.signal.reason instanceof HandlerTimeoutError) {
      call.state = 'FAILED'
      court.reach('handler: it succeeds after its timeout')
      return
    }
    call.state = 'OK'
    marks.succeeded(call)
    if (call.tx === undefined) this.#haveEffect(call)
    else call.tx.effects.push(() => this.#haveEffect(call))
  }

  /** Applies the effect; with an inbox only on commit. */
  #haveEffect(call: Call): void {
    const { evidence, court, callChecker } = this.#world
    const { successes } = evidence.fate(call.id, call.binding)
    const copy = placeName(call.record)
    successes.set(copy, (successes.get(copy) ?? 0) + 1)
    // In a recreated source, places mean other events.
    const { chaos, logCuts } = this.#world.program
    const isLasting = logCuts.length === 0 && !chaos.some(({ kind }) => kind === 'RECREATE_SOURCE')
    if (isLasting && this.#world.effects.commit(call.binding.groupId, call.id, call.original) === 'DUPLICATE')
      court.reach('effect: its mark keeps a repeat from having another')
    callChecker.succeeded(call)
  }

  #fail(call: Call): void {
    this.running.delete(call)
    this.#world.callChecker.ended(call)
    call.state = 'FAILED'
    this.#world.callChecker.failed(call)
    this.#world.evidence.fate(call.id, call.binding).failures++
    this.#world.court.note(call.process.name, () => `${call.binding.name} fails with ${call.id}`)
  }
}

/** The outcome of a call. */
interface Thrown {
  readonly thrown: unknown
}

/** It completes when the obstruction ends, and then succeeds. */
const stuck: Thrown = { thrown: undefined }

const failures: { readonly [H in Hindrance]: Thrown } = {
  STICK: stuck,
  FAIL: { thrown: new Error('not while it lasts') },
  DIE: { thrown: new NonRetryableError('cannot succeed here') },
}

const hindranceStates: { readonly [H in Hindrance]: RareState } = {
  STICK: 'obstruction: a handler is stuck',
  FAIL: 'obstruction: a record fails again and again',
  DIE: 'obstruction: there is no dead letter topic',
}

const oddThrows: readonly unknown[] = [undefined, null, 'text', 7, Object.freeze({ odd: true }), Object.create(null)]

function thrownBy(throws: 'ERROR' | 'ODD' | 'SKIP', number: number): unknown {
  if (throws === 'ODD') return oddThrows[number % oddThrows.length]
  const error = new Error('not yet')
  if (throws === 'SKIP') error.name = skippingError
  return error
}
