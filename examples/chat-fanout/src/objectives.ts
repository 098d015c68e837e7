/** The service level objectives of the chat, and whether the numbers of a run meet them. */

/** The numbers of a run. */
export interface Measured {
  /** Messages that were accepted, and copies of them that clients lack at the end. */
  readonly accepted: number
  readonly missing: number
  /** Requests to send, and those that failed. */
  readonly requests: number
  readonly refused: number
  /** Time until a sender has its answer. */
  readonly ackMs: readonly number[]
  /** Time from a message to its delivery to clients that are online. */
  readonly deliveryMs: readonly number[]
  /** Events that workers read, and those that they settled: delivered, or skipped after an attempt. */
  readonly consumed: number
  readonly processed: number
}

/** An objective with the number that was measured. */
export interface Objective {
  readonly name: string
  /** The least share, or the most milliseconds. */
  readonly target: number
  readonly window: string
  readonly measured: number
  readonly isMet: boolean
}

/** Returns each objective of the service with its measurement. A run is shorter than their windows. */
export function assessObjectives(measured: Measured): readonly Objective[] {
  const { accepted, missing, requests, refused, ackMs, deliveryMs, consumed, processed } = measured
  return [
    atLeast('durability', 0.999_99, '30 d', share(accepted - missing, accepted)),
    atMost('send acknowledgement P99, ms', 500, '30 d', percentile(ackMs, 0.99)),
    atMost('delivery P99, ms', 2_000, '30 d', percentile(deliveryMs, 0.99)),
    atLeast('availability', 0.999, '30 d', share(requests - refused, requests)),
    atLeast('fan-out processing', 0.999, '1 h', share(processed, consumed)),
  ]
}

function atLeast(name: string, target: number, window: string, measured: number): Objective {
  return { name, target, window, measured, isMet: measured >= target }
}

function atMost(name: string, target: number, window: string, measured: number): Objective {
  return { name, target, window, measured, isMet: measured < target }
}

/** Nothing has failed where nothing was tried. */
function share(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole
}

/** Returns the value that a share of all values does not exceed. */
export function percentile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(sorted.length * rank) - 1)] ?? 0
}
