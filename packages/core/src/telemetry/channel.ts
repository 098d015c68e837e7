/**
 * Engine events travel on node:diagnostics_channel, under `waybill:` and their name, so that an agent or a console can
 * watch an engine it did not build, in any copy of the package.
 *
 * Node calls subscribers in the publisher's own turn and rethrows what they throw as an uncaught exception on the next
 * tick. That keeps the engine's call safe and still ends the process. A mere observer must not be able to
 * stop delivery, so {@link onEngineEvent} contains its subscriber: a throw or rejection is reported, once, as a process
 * warning. A subscriber of Node's own function keeps Node's behavior.
 */

import diagnosticsChannel from 'node:diagnostics_channel'
import { describeThrown } from '../errors.ts'
import type { EngineEventName, EngineEvents } from './events.ts'

/** Where an engine publishes one kind of event. Make it once and keep it: the lookup is the costly part. */
export interface EngineChannel<Payload> {
  /** False means that a payload need not even be built: `if (channel.hasSubscribers) channel.publish({ … })`. */
  readonly hasSubscribers: boolean
  /** Hands the payload to every subscriber before it returns. Never throws; does nothing without subscribers. */
  publish(payload: Payload): void
}

/** Takes one event. It runs in the engine's turn: hand slow work on. */
export type EngineSubscriber<N extends EngineEventName> = (payload: EngineEvents[N]) => void

/** The channel of an engine event. Node's own channel object serves as it is, so publishing costs what Node's does. */
export function engineChannel<N extends EngineEventName>(name: N): EngineChannel<EngineEvents[N]> {
  return diagnosticsChannel.channel(nodeName(name))
}

/**
 * Calls `subscriber` for every event of that name in this process, until disposed.
 *
 * @param reportFailure - takes what the subscriber throws or rejects with; by default the first becomes a process
 * warning and later ones are dropped, since a subscriber that fails once tends to fail for every record.
 */
export function onEngineEvent<N extends EngineEventName>(
  name: N,
  subscriber: EngineSubscriber<N>,
  reportFailure: (failure: unknown) => void = warnOnce(name),
): Disposable {
  const contained = (payload: unknown): void => {
    try {
      // An async function is assignable to one that returns nothing, and its rejection would end the process as well.
      const returned: unknown = subscriber(payload as EngineEvents[N])
      if (returned instanceof Promise) returned.catch(reportFailure)
    } catch (failure) {
      reportFailure(failure)
    }
  }
  diagnosticsChannel.subscribe(nodeName(name), contained)
  return { [Symbol.dispose]: () => void diagnosticsChannel.unsubscribe(nodeName(name), contained) }
}

function nodeName(name: EngineEventName): string {
  return `waybill:${name}`
}

function warnOnce(name: EngineEventName): (failure: unknown) => void {
  let warned = false
  return (failure) => {
    if (warned) return
    warned = true
    process.emitWarning(`A subscriber of ${name} failed: ${describeThrown(failure)}`, {
      type: 'WaybillWarning',
      code: 'WAYBILL_SUBSCRIBER_FAILED',
      detail: 'The engine is not affected. Further failures of this subscriber are not reported.',
    })
  }
}
