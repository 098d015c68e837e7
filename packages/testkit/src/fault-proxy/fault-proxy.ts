import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { createService, type Runtime, type Service, StateError, type StopOptions } from '@waybill/core'
import { type ServiceState } from '@waybill/core/internal'
import { durationMs, integer, nested, oneOf, type Resolved, resolveOptions, text } from '@waybill/core/option'
import { runtimeRule } from '../wait/wait-rules.ts'
import { type FlowMode, resetSocket } from './flow.ts'
import { Link, type LinkCount, type LinkFaults } from './link.ts'

/** Options of {@link createFaultProxy}. */
export interface FaultProxyOptions {
  /** Target of the proxy. `host` defaults to 127.0.0.1. */
  readonly target: { readonly host?: string; readonly port: number }
  /** Port on 127.0.0.1. @defaultValue 0, any free port */
  readonly port?: number
  /**
   * Bytes that the proxy buffers per connection and direction before it applies back-pressure.
   *
   * @defaultValue 1,048,576
   */
  readonly maxBufferedBytes?: number
  /**
   * Times the delays and draws the lifetimes; a seeded runtime makes them repeatable. @defaultValue the system runtime
   */
  readonly runtime?: Runtime
}

/** Direction of bytes. */
export type FaultDirection = 'TO_TARGET' | 'TO_CLIENT' | 'BOTH'

/** Delay of bytes, per direction. */
export interface FaultDelay {
  /** @defaultValue 0 */
  readonly toTargetMs?: number
  /** @defaultValue 0 */
  readonly toClientMs?: number
}

/** Lifetime of connections: each draws its own between the two. */
export interface FaultLifetime {
  readonly minMs: number
  readonly maxMs: number
}

/** Counters of a {@link FaultProxy} since its creation. */
export interface FaultProxyStats {
  /** Connections accepted. */
  readonly accepted: number
  /** Connections refused. */
  readonly refused: number
  /** Connections with at least one open side. */
  readonly open: number
  /** Bytes delivered to the target. */
  readonly toTargetBytes: number
  /** Bytes delivered to clients. */
  readonly toClientBytes: number
  /** Bytes that are delayed, held, or waiting for a receiver to read. */
  readonly waitingBytes: number
  /** Bytes that were dropped. */
  readonly droppedBytes: number
}

/**
 * A TCP proxy on 127.0.0.1 that injects network faults. Faults apply to current and future connections, until the next
 * call or {@link FaultProxy.heal}. The end and the reset of a stream travel like its bytes, so they are delayed, held
 * or dropped with them: a peer that dies behind a dropped direction goes unnoticed.
 */
export interface FaultProxy extends Service {
  /** Address to connect to. Known once started. */
  readonly host: string
  readonly port: number
  readonly stats: FaultProxyStats
  /** Delays bytes from now on, in order. Bytes already in transit keep their time. */
  delay(delay: FaultDelay): void
  /** Holds bytes: connections stay open, and bytes arrive after the heal. @defaultValue 'BOTH' */
  hold(direction?: FaultDirection): void
  /** Drops bytes: connections stay open, and the bytes are lost. @defaultValue 'BOTH' */
  drop(direction?: FaultDirection): void
  /** Resets new connections as soon as they are accepted. */
  refuse(): void
  /** Resets each future connection when its drawn lifetime is over. */
  limitLifetime(lifetime: FaultLifetime): void
  /** Resets all current connections (RST). */
  cut(): void
  /** Closes all current connections (FIN). Delayed and held bytes are lost. */
  end(): void
  /**
   * Ends all faults. Delayed and held bytes arrive. A connection with dropped bytes is reset, since TCP never delivers
   * a stream with a gap. Drawn lifetimes are canceled.
   */
  heal(): void
}

const proxyRules = {
  target: nested({
    host: text({ default: '127.0.0.1', because: 'services under test run locally' }),
    port: integer({ min: 1, max: 65_535 }),
  }),
  port: integer({ default: 0, min: 0, max: 65_535, because: 'the operating system picks a free port' }),
  maxBufferedBytes: integer({
    default: 1_048_576,
    min: 1,
    because: 'about what the kernel buffers on both sides of a real connection',
  }),
  runtime: runtimeRule,
}
const delayRules = {
  toTargetMs: durationMs({ default: 0, because: 'no delay' }),
  toClientMs: durationMs({ default: 0, because: 'no delay' }),
}
const lifetimeRules = { minMs: durationMs(), maxMs: durationMs() }
const directionRules = {
  direction: oneOf(['TO_TARGET', 'TO_CLIENT', 'BOTH'], {
    default: 'BOTH',
    because: 'a dead network drops both directions',
  }),
}

const noBytes: LinkCount = { toTargetBytes: 0, toClientBytes: 0, waitingBytes: 0, droppedBytes: 0 }
const noFaults: LinkFaults = { toTarget: { mode: 'PASS', delayMs: 0 }, toClient: { mode: 'PASS', delayMs: 0 } }

/** Creates a {@link FaultProxy}. start() makes it listen; stop() resets every connection and leaves nothing open. */
export function createFaultProxy(options: FaultProxyOptions): FaultProxy {
  return new TcpFaultProxy(resolveOptions('createFaultProxy', proxyRules, options))
}

class TcpFaultProxy implements FaultProxy {
  readonly host = '127.0.0.1'
  readonly #options: Resolved<typeof proxyRules>
  readonly #service: Service
  readonly #server: Server
  readonly #links = new Map<Link, Disposable | undefined>()
  #faults = noFaults
  #isRefusing = false
  #lifetime: FaultLifetime | undefined
  #accepted = 0
  #refused = 0
  #closedCount = noBytes

  constructor(options: Resolved<typeof proxyRules>) {
    this.#options = options
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client))
    this.#service = createService({
      name: 'fault proxy',
      runtime: options.runtime,
      start: () => this.#listen(),
      stop: () => this.#close(),
    })
  }

  get state(): ServiceState {
    return this.#service.state
  }

  start(): Promise<void> {
    return this.#service.start()
  }

  stop(options?: StopOptions): Promise<void> {
    return this.#service.stop(options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  get port(): number {
    const address = this.#server.address() as AddressInfo | null
    if (address === null)
      throw new StateError('The fault proxy has no port, because it is not listening.', { hint: 'Start it first.' })
    return address.port
  }

  get stats(): FaultProxyStats {
    const counts = [this.#closedCount, ...[...this.#links.keys()].map((link) => link.count)]
    return { accepted: this.#accepted, refused: this.#refused, open: this.#links.size, ...counts.reduce(add) }
  }

  delay(delay: FaultDelay): void {
    const { toTargetMs, toClientMs } = resolveOptions('delay', delayRules, delay)
    const { toTarget, toClient } = this.#faults
    this.#setFaults({ toTarget: { ...toTarget, delayMs: toTargetMs }, toClient: { ...toClient, delayMs: toClientMs } })
  }

  hold(direction?: FaultDirection): void {
    this.#setMode('HOLD', direction)
  }

  drop(direction?: FaultDirection): void {
    this.#setMode('DROP', direction)
  }

  refuse(): void {
    this.#isRefusing = true
  }

  limitLifetime(lifetime: FaultLifetime): void {
    this.#lifetime = resolveOptions('limitLifetime', lifetimeRules, lifetime, ({ minMs, maxMs }, report) => {
      if (minMs > maxMs) report('minMs', `must be at most maxMs (${maxMs}), got ${minMs}`)
    })
  }

  cut(): void {
    for (const link of this.#links.keys()) link.cut()
  }

  end(): void {
    for (const link of this.#links.keys()) link.end()
  }

  heal(): void {
    this.#faults = noFaults
    this.#isRefusing = false
    this.#lifetime = undefined
    for (const [link, lifetime] of this.#links) {
      lifetime?.[Symbol.dispose]()
      link.heal()
    }
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.#options.port, this.host)
    await once(this.#server, 'listening')
  }

  async #close(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined
    this.#server.close()
    this.cut()
    await Promise.all([closed, ...[...this.#links.keys()].map((link) => link.closed)])
  }

  #accept(client: Socket): void {
    if (this.#isRefusing) {
      this.#refused++
      client.on('error', () => {})
      resetSocket(client)
      return
    }
    this.#accepted++
    const { target, maxBufferedBytes, runtime } = this.#options
    const link = new Link({
      client,
      target: connect({ ...target, allowHalfOpen: true, noDelay: true }),
      faults: this.#faults,
      maxBufferedBytes,
      runtime,
    })
    this.#links.set(link, this.#drawLifetime(link))
    void link.closed.then(() => this.#forget(link))
  }

  #drawLifetime(link: Link): Disposable | undefined {
    if (this.#lifetime === undefined) return undefined
    const { minMs, maxMs } = this.#lifetime
    const { random, timers } = this.#options.runtime
    return timers.schedule(minMs + random() * (maxMs - minMs), () => link.cut())
  }

  #forget(link: Link): void {
    this.#links.get(link)?.[Symbol.dispose]()
    this.#links.delete(link)
    this.#closedCount = add(this.#closedCount, link.count)
  }

  #setMode(mode: FlowMode, given: FaultDirection | undefined): void {
    const { direction } = resolveOptions(mode.toLowerCase(), directionRules, { direction: given })
    const { toTarget, toClient } = this.#faults
    this.#setFaults({
      toTarget: direction === 'TO_CLIENT' ? toTarget : { ...toTarget, mode },
      toClient: direction === 'TO_TARGET' ? toClient : { ...toClient, mode },
    })
  }

  #setFaults(faults: LinkFaults): void {
    this.#faults = faults
    for (const link of this.#links.keys()) link.setFaults(faults)
  }
}

function add(one: LinkCount, other: LinkCount): LinkCount {
  return {
    toTargetBytes: one.toTargetBytes + other.toTargetBytes,
    toClientBytes: one.toClientBytes + other.toClientBytes,
    waitingBytes: one.waitingBytes + other.waitingBytes,
    droppedBytes: one.droppedBytes + other.droppedBytes,
  }
}
