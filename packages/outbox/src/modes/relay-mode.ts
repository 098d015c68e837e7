import type { EventEnvelope, Schemas } from '@waybill/core'
import type { WakeUp } from '../api/wake-up.ts'
import type { WriterHook } from '../api/writer-hook.ts'
import type { Claims } from '../claim/claims.ts'
import type { WorkRow } from '../claim/held-row.ts'
import { InFlight } from '../claim/in-flight.ts'
import { createDestinations } from '../destination/destination-report.ts'
import type { Destinations } from '../destination/destinations.ts'
import type { EngineParts } from '../dispatch/delivery-engine.ts'
import { createDelivery } from '../dispatch/listener-call.ts'
import type { OutboxRetry } from '../options/outbox-retry.ts'
import type { ResolvedRelayOptions } from '../options/resolved-options.ts'
import { Relay } from '../relay/relay.ts'
import type { Outbox } from './assemble-outbox.ts'
import { deliverInPlace } from './deliver-in-place.ts'
import { createDeliveringOutbox } from './delivering-outbox.ts'

/** The options of a mode that takes rows individually, with the fixed ones filled in. */
export interface RelaySettings extends ResolvedRelayOptions {
  readonly workerCount: number
  readonly retry: OutboxRetry
  /** Undefined: no hot path. */
  readonly hotQueueCapacity: number | undefined
  readonly hook: WriterHook | undefined
  /** Undefined: polling finds the rows of other nodes. */
  readonly wakeUp?: WakeUp | undefined
  /** Takes new rows strictly by sequence number. @defaultValue false: as they come */
  readonly isInSequence?: boolean | undefined
  /** The name of this node; a suffix makes it unique later. */
  readonly owner: string
}

/** The dependencies of claims besides the options of their mode. */
export interface ClaimParts extends Pick<EngineParts, 'database' | 'store' | 'owner' | 'telemetry' | 'modeTerm'> {
  readonly inFlight: InFlight<WorkRow>
}

/** Assembles a mode that takes rows individually, with the given claims. */
export function createRelayOutbox<S extends Schemas, Tx>(
  mode: string,
  settings: RelaySettings,
  claimsOf: (parts: ClaimParts) => Claims,
): Outbox<S, Tx> {
  return createDeliveringOutbox(mode, settings, ({ isModeOpen, finished, ...parts }) => {
    const inFlight = new InFlight<WorkRow>(settings.runtime.clock, settings.inFlightTtlMs)
    const claims = claimsOf({ ...parts, database: parts.leaseDatabase, inFlight })
    const { metricsPrefix, listeners, runtime, isInSequence } = settings
    const destinations = createDestinations(metricsPrefix, listeners, runtime, isInSequence)
    const deliver = createDelivery({ ...settings, destinations })
    const stop = { isStopping: false, isWaiting: false }
    /** The first event in sequence waits for its destination: stop() must not. */
    const waiting = (isWaiting: boolean): void => {
      stop.isWaiting = isWaiting
      if (isWaiting && stop.isStopping) relay.cutOff()
    }
    const relay = new Relay({
      ...settings,
      outbox: settings.metricsPrefix,
      // An unused queue needs no capacity.
      hotQueueCapacity: settings.hotQueueCapacity ?? 1,
      ...parts,
      isModeOpen,
      claims,
      inFlight,
      destinations,
      deliver:
        settings.isInSequence === true
          ? deliverInPlace({ ...settings, deliver, destinations, waiting, isModeOpen })
          : deliver,
      finished,
    })
    destinations.whenOpened = (destination) => relay.opened(destination)
    return {
      name: 'relay',
      destinations,
      start: (signal) => relay.start(signal),
      stop: (deadline) => {
        stop.isStopping = true
        if (stop.isWaiting) relay.cutOff()
        return relay.stop(deadline)
      },
      running: () => relay.running(),
      get unsettled() {
        return relay.unsettled
      },
      hotPath: settings.hotQueueCapacity === undefined ? undefined : relay,
      wake: () => relay.poller.wake(),
      sweep: () => relay.poller.wakeForSweep(),
      modeShut: () => claims.modeShut(),
      status: () => ({
        queued: relay.queued,
        isExclusive: claims.repeatsRows,
        holdsTable: claims.holdNewRows() !== null,
        locked: relay.locked,
      }),
      committed: (events, _seqs, availableAt) => {
        if (!destinations.isOpen) noteWaits(destinations, events)
        // Checking each event is not free, and only matters if other nodes can be notified.
        if (availableAt === null)
          return settings.wakeUp !== undefined && !events.every(({ eventId }) => inFlight.has(eventId))
        relay.poller.rowDueIn(availableAt - settings.runtime.clock.now())
        return false
      },
    }
  })
}

/** Records which committed events wait for their destinations: the poller finds them only later. */
function noteWaits(destinations: Destinations, events: readonly EventEnvelope[]): void {
  for (const event of events) {
    const destination = destinations.blockerOf(event)
    if (destination !== undefined) destinations.waits(destination, event.eventId)
  }
}
