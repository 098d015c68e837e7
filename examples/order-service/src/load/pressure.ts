import { type Backpressure, createBackpressure, type Runtime } from '@waybill/core'

/** The sources of the pressure on an instance. */
export interface PressureInputs {
  /** Events that are not published yet. */
  readonly backlog: () => number
  /** The age of the oldest record that this instance has to consume. */
  readonly lagMs: () => number
  /** Busy connections of the database divided by all. */
  readonly saturation: () => number
}

/** Creates the signal that rate limits, retry delays and the write gate follow. */
export function createPressure({ backlog, lagMs, saturation }: PressureInputs, runtime: Runtime): Backpressure {
  const measured =
    (metric: string, read: () => number, unit = 1) =>
    () => {
      const value = read()
      runtime.metrics.gauge(`backpressure.${metric}`, {}, value * unit)
      return value
    }
  return createBackpressure({
    inputs: {
      'outbox.backlog': { read: measured('outbox.backlog', backlog), elevated: 2_000, critical: 10_000 },
      'kafka.lag.ms': { read: measured('kafka.lag.ms', lagMs), elevated: 120_000, critical: 600_000 },
      'db.saturation': { read: measured('db.saturation.percent', saturation, 100), elevated: 0.75, critical: 0.9 },
    },
    runtime,
  })
}
