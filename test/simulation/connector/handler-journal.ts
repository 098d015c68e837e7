/** What handlers do, and a journal of each call: which record, for whom, from when to when, and how it ended. */

import { defineEvents, NonRetryableError, type StandardSchema } from '@waybill/core'
import {
  type Binding,
  type Connector,
  type DeliveryContext,
  HandlerTimeoutError,
  handleEvents,
  type KafkaRecord,
} from '@waybill/kafka'
import type { SimProcess } from '../world/sim-process.ts'
import type { Behaviour, BindingPlan } from './binding-plan.ts'
import { type Evidence, placeName } from './evidence.ts'
import type { Ground } from './ground.ts'
import type { PauseWatch } from './pause-watch.ts'
import { sourceTopic } from './program.ts'
import { eventName } from './record-plan.ts'

/** Where a handler runs. */
export interface HandlerProcess {
  readonly name: string
  readonly sim: SimProcess
  readonly state: 'LIVING' | 'STOPPING' | 'STOPPED' | 'DEAD'
  readonly connector: Connector
  /** Bindings that an operator has paused here. */
  readonly paused: ReadonlySet<string>
  /** Of each consumer that was made here. */
  readonly pauseWatches: readonly PauseWatch[]
  /** How often bindings were stopped and started again here. */
  readonly restarts: number
}

/** Is told of calls. */
export interface CallWatch {
  started(call: Call): void
  succeeded(call: Call): void
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
  readonly signal: AbortSignal
  state: 'RUNNING' | 'OK' | 'FAILED'
}

/** What a call is told beside its record, whatever kind of handler it is. */
type Told = Pick<DeliveryContext, 'tier' | 'attempt' | 'signal' | 'headers' | 'record'>

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

/** True when the engine has given the call up: what it still does is not waited for. */
export function isGivenUp({ signal }: Call): boolean {
  return signal.aborted
}

/** What it stands on. */
type Known = Ground & { readonly evidence: Evidence; readonly callChecker: CallWatch }

/** Runs handlers. */
export class HandlerJournal {
  /** Calls that run, of processes that live. */
  readonly running = new Set<Call>()
  readonly #world: Known

  constructor(world: Known) {
    this.#world = world
  }

  /** The handler of a binding in a process. */
  handlerOf(binding: BindingPlan, process: HandlerProcess): Binding['handler'] {
    const handle = (record: KafkaRecord, context: Told): Promise<void> | void =>
      this.#call(binding, process, record, context)
    if (!this.#world.program.areEvents) return handle
    return handleEvents(catalog, { [eventName.handled]: (_event, context) => handle(context.record, context) })
  }

  /** What ran in a process that is dead runs no more. */
  forget(process: HandlerProcess): void {
    for (const call of this.running) if (call.process === process) this.running.delete(call)
  }

  #call(
    binding: BindingPlan,
    process: HandlerProcess,
    record: KafkaRecord,
    { tier, attempt, signal, headers }: Told,
  ): Promise<void> | void {
    const { evidence, court, runtime, callChecker } = this.#world
    evidence.update()
    const id = record.headers.text('id') ?? ''
    const owner = `${process.name} ${headers.text('x-eventbus-consumer-instance')} ${process.restarts} ${record.epoch}`
    const call: Call = { binding, process, owner, id, record, tier, attempt, signal, state: 'RUNNING' }
    court.note(
      process.name,
      () => `${binding.name} handles ${id} of ${placeName(record)} epoch ${record.epoch}, attempt ${attempt}`,
    )
    runtime.note(placeName(record))
    callChecker.started(call)
    const fate = evidence.fate(id, binding)
    if (fate === undefined) return
    fate.calls++
    const copy = placeName(record)
    if ((fate.deliveries.get(copy) ?? owner) !== owner) fate.isRedelivered = true
    fate.deliveries.set(copy, owner)
    this.running.add(call)
    signal.addEventListener('abort', () => {
      if (call.state === 'RUNNING' && signal.reason instanceof HandlerTimeoutError) fate.failures++
    })
    return this.#act(call, fate.calls)
  }

  #act(call: Call, number: number): Promise<void> | void {
    const { draw } = this.#world
    const { behaviours, handlerMs } = call.binding
    const behaviour = behaviours[Number(call.id.slice(1))] as Behaviour
    const ms = draw.between(0, handlerMs)
    const failure = this.#failureOf(call.binding, behaviour, number)
    // Some end at once, without a promise.
    if (failure === undefined && behaviour.kind === 'OK' && (handlerMs === 0 || draw.chance(0.2)))
      return this.#succeed(call)
    return this.#work(call, behaviour, number, ms, failure)
  }

  async #work(
    call: Call,
    behaviour: Behaviour,
    number: number,
    ms: number,
    failure: { readonly thrown: unknown } | undefined,
  ): Promise<void> {
    const { timers } = call.process.sim.runtime
    await timers.sleep(behaviour.kind === 'SLOW' ? behaviour.ms : ms)
    if (behaviour.kind === 'HANG' && number <= behaviour.times) await new Promise(() => {})
    if (behaviour.kind === 'LATE' && number <= behaviour.times) await timers.sleep(1_000)
    if (failure === undefined) return this.#succeed(call)
    this.#fail(call)
    throw failure.thrown
  }

  #failureOf({ down }: BindingPlan, behaviour: Behaviour, number: number): { readonly thrown: unknown } | undefined {
    const at = this.#world.sinceStart()
    if (down !== undefined && at >= down.fromMs && at < down.fromMs + down.forMs)
      return { thrown: new Error('what the handler needs is down') }
    switch (behaviour.kind) {
      case 'FAIL':
        if (number > behaviour.times) return undefined
        return { thrown: behaviour.isOdd ? oddThrows[number % oddThrows.length] : new Error('not yet') }
      case 'ALWAYS':
        return { thrown: new Error('never') }
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
    const { evidence, court } = this.#world
    this.running.delete(call)
    court.note(
      call.process.name,
      () => `${call.binding.name} has handled ${call.id}${isGivenUp(call) ? ', too late' : ''}`,
    )
    // The engine has said that this call failed: whatever it did, it settles nothing.
    if (call.signal.aborted && call.signal.reason instanceof HandlerTimeoutError) {
      call.state = 'FAILED'
      court.reach('handler: it ends well after its time-out')
      return
    }
    call.state = 'OK'
    evidence.fate(call.id, call.binding).successes.add(placeName(call.record))
    this.#world.callChecker.succeeded(call)
  }

  #fail(call: Call): void {
    this.running.delete(call)
    call.state = 'FAILED'
    this.#world.evidence.fate(call.id, call.binding).failures++
    this.#world.court.note(call.process.name, () => `${call.binding.name} fails with ${call.id}`)
  }
}

const oddThrows: readonly unknown[] = [undefined, null, 'text', 7, Object.freeze({ odd: true }), Object.create(null)]
