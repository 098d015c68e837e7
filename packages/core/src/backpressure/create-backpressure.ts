import { StateError } from '../errors.ts'
import { createService } from '../lifecycle/create-service.ts'
import type { Service } from '../lifecycle/service.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { showValue } from '../option/show-value.ts'
import type { Runtime } from '../runtime/runtime.ts'
import {
  type BackpressureInput,
  type BackpressureOptions,
  backpressureRules,
  checkBackpressureOptions,
  type ResolvedBackpressureOptions,
} from './backpressure-options.ts'
import { type BackpressureLevel, highestLevel, levelOf, levelRank } from './pressure-level.ts'

/** The last reading of an input. */
export interface BackpressureReading {
  readonly level: BackpressureLevel
  /** Null: it could not be read. */
  readonly value: number | null
}

/** A signal of the pressure on a service. Before the first reading it is NORMAL. */
export interface Backpressure extends Service {
  readonly level: BackpressureLevel
  /** Whether the service should reject writes: at CRITICAL. */
  readonly shouldRejectWrites: boolean
  /** Returns the factor of the level. Bound, so that it can be passed on: `adaptiveRetry({ throttlingFactor: signal.factor })`. */
  readonly factor: () => number
  /** The last reading of each input, by name. */
  readonly readings: Readonly<Record<string, BackpressureReading>>
  /** Reads all inputs now. Never rejects. @returns the level */
  readNow(): Promise<BackpressureLevel>
}

/**
 * Creates a signal from any inputs, such as the backlog of an outbox, the lag of a consumer and the saturation of a pool. It
 * reads them at an interval between start and stop.
 *
 * @throws an OptionsError with every violation
 */
export function createBackpressure(options: BackpressureOptions): Backpressure {
  const resolved = resolveOptions('createBackpressure', backpressureRules, options, checkBackpressureOptions)
  const { runtime, factors, intervalMs } = resolved
  const gauges = Object.entries(resolved.inputs).map(([name, input]) => new InputGauge(name, input, resolved))
  let level: BackpressureLevel = 'NORMAL'
  const ending = new AbortController()
  let loop: Promise<void> = Promise.resolve()

  async function readNow(): Promise<BackpressureLevel> {
    await Promise.all(gauges.map((gauge) => gauge.read()))
    const former = level
    level = highestLevel(gauges.map(({ reading }) => reading.level))
    runtime.metrics.gauge('backpressure.level', {}, levelRank[level])
    if (level !== former) runtime.logger.warn({ from: former, to: level, ...valuesOf(gauges) }, 'Backpressure changed')
    return level
  }

  async function run(): Promise<void> {
    while (!ending.signal.aborted) {
      await readNow()
      await runtime.timers.sleep(intervalMs, ending.signal).catch(() => {}) // Only stop() ends it early.
    }
  }

  const service = createService({
    name: 'backpressure',
    runtime,
    start: () => {
      loop = run()
    },
    stop: async () => {
      ending.abort()
      await loop
    },
  })
  return {
    start: () => service.start(),
    stop: (given) => service.stop(given),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    get state() {
      return service.state
    },
    get level() {
      return level
    },
    get shouldRejectWrites() {
      return level === 'CRITICAL'
    },
    get readings() {
      return Object.fromEntries(gauges.map(({ name, reading }) => [name, reading]))
    },
    factor: () => factors[level],
    readNow,
  }
}

/** One input with its last reading. */
class InputGauge {
  readonly name: string
  readonly #input: BackpressureInput
  readonly #options: Pick<ResolvedBackpressureOptions, 'hysteresis' | 'whenUnreadable' | 'intervalMs'>
  readonly #runtime: Runtime
  reading: BackpressureReading = { level: 'NORMAL', value: null }
  /** The value that was asked for and has not come. */
  #pending: Promise<number> | undefined
  #isFailing = false

  constructor(name: string, input: BackpressureInput, { runtime, ...options }: ResolvedBackpressureOptions) {
    this.name = name
    this.#input = input
    this.#options = options
    this.#runtime = runtime
  }

  /** Never rejects: a failure is a reading, too. */
  async read(): Promise<void> {
    const { hysteresis, whenUnreadable } = this.#options
    try {
      const value = await this.#value()
      this.reading = { level: levelOf(value, this.#input, this.reading.level, hysteresis), value }
      this.#runtime.metrics.gauge('backpressure.input', { input: this.name }, value)
      this.#isFailing = false
    } catch (err) {
      this.reading = { level: highestLevel([this.reading.level, whenUnreadable]), value: null }
      if (!this.#isFailing) this.#runtime.logger.warn({ err, input: this.name }, 'Backpressure input unreadable')
      this.#isFailing = true
    }
  }

  async #value(): Promise<number> {
    if (this.#pending !== undefined) throw new StateError('The former reading has not answered yet.')
    const pending = this.#ask()
    const answered = (): void => void (this.#pending = undefined)
    this.#pending = pending
    pending.then(answered, answered)
    const late = Promise.withResolvers<never>()
    using _ = this.#runtime.timers.schedule(this.#options.intervalMs, () =>
      late.reject(new StateError(`The input did not answer within ${this.#options.intervalMs} ms.`)),
    )
    return await Promise.race([pending, late.promise])
  }

  async #ask(): Promise<number> {
    const value: unknown = await this.#input.read()
    if (typeof value === 'number' && !Number.isNaN(value)) return value
    throw new StateError(`An input of backpressure must return a number, got ${showValue(value)}.`)
  }
}

function valuesOf(gauges: readonly InputGauge[]): Readonly<Record<string, number | null>> {
  return Object.fromEntries(gauges.map(({ name, reading }) => [name, reading.value]))
}
