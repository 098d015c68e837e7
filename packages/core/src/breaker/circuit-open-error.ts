import { WaybillError } from '../errors.ts'
import type { CircuitState } from './circuit-event.ts'

/** A call that was not made because the circuit breaker in front of it allows none now. */
export class CircuitOpenError extends WaybillError {
  static override readonly code = 'WAYBILL_CIRCUIT_OPEN'

  constructor(breaker: string, state: CircuitState) {
    super(
      state === 'OPEN'
        ? `The circuit breaker ${breaker} is open: recent calls failed or were slow too often.`
        : `The circuit breaker ${breaker} lets a few calls probe, and this is none of them.`,
      {
        impact: 'The handler was not called, so no attempt was spent.',
        hint: 'Look at what the handler depends on; the breaker probes by itself and closes once calls succeed.',
      },
    )
  }
}
