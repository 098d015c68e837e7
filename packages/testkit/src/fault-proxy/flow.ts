import type { Socket } from 'node:net'
import type { Runtime } from '@waybill/core'

/** The treatment of bytes in one direction: passed on, held until the heal, or dropped. */
export type FlowMode = 'PASS' | 'HOLD' | 'DROP'

/** The fault of one direction. */
export interface FlowFault {
  readonly mode: FlowMode
  readonly delayMs: number
}

/** Counters of the bytes that a {@link Flow} has read. */
export interface FlowCount {
  readonly deliveredBytes: number
  readonly waitingBytes: number
  readonly droppedBytes: number
}

/** One element of a stream. Its end and its reset travel like bytes, and the same faults apply to them. */
type Parcel = { readonly dueAt: number } & (
  | { readonly kind: 'BYTES'; readonly bytes: Buffer }
  | { readonly kind: 'END' | 'RESET' }
)

interface FlowParts {
  readonly from: Socket
  readonly to: Socket
  readonly fault: FlowFault
  readonly maxBufferedBytes: number
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>
}

/**
 * One direction of one connection. Parcels leave in order, each when it is due and those before it have left, so that a
 * shorter delay lets none overtake. At most `maxBufferedBytes` plus one read are buffered; beyond that the source is
 * not read, and its sender gets back-pressure as from a real network. Node notices a dead source only while it reads
 * from it, so at the limit that goes unseen until bytes are delivered.
 */
export class Flow {
  readonly #parts: FlowParts
  readonly #waiting: Parcel[] = []
  #fault: FlowFault
  #waitingBytes = 0
  #deliveredBytes = 0
  #droppedBytes = 0
  #hasHole = false
  #isSinkFull = false
  #isReset = false
  #isOver = false
  #timer: Disposable | undefined

  constructor(parts: FlowParts) {
    this.#parts = parts
    this.#fault = parts.fault
    const { from, to } = parts
    from.on('data', (bytes) => this.#take({ kind: 'BYTES', bytes, dueAt: this.#dueAt() }))
    from.once('end', () => this.#take({ kind: 'END', dueAt: this.#dueAt() }))
    from.once('close', () => {
      // Closed without an end: a reset, or a failed connect.
      this.#isReset = !from.readableEnded || from.errored !== null
      if (this.#isReset) this.#take({ kind: 'RESET', dueAt: this.#dueAt() })
    })
    to.on('drain', () => {
      this.#isSinkFull = false
      this.#pump()
    })
  }

  get count(): FlowCount {
    return {
      deliveredBytes: this.#deliveredBytes,
      waitingBytes: this.#waitingBytes,
      droppedBytes: this.#droppedBytes,
    }
  }

  /** True when bytes were dropped. TCP never delivers a stream with a gap, so the connection can only be reset. */
  get hasHole(): boolean {
    return this.#hasHole
  }

  /** Changes the fault of future bytes. Buffered ones keep their time, or are dropped in mode DROP. */
  setFault(fault: FlowFault): void {
    this.#fault = fault
    if (fault.mode === 'DROP') for (const parcel of this.#waiting.splice(0)) this.#drop(parcel)
    this.#pump()
  }

  /** Ends the fault and delivers buffered bytes now. */
  heal(): void {
    this.#fault = { mode: 'PASS', delayMs: 0 }
    for (const [at, parcel] of this.#waiting.entries()) this.#waiting[at] = { ...parcel, dueAt: 0 }
    this.#pump()
  }

  /** Discards buffered and future bytes, and keeps reading to see the end. */
  close(): void {
    this.#isOver = true
    this.#cancelTimer()
    this.#waiting.length = 0
    this.#waitingBytes = 0
    this.#parts.from.resume()
  }

  #cancelTimer(): void {
    this.#timer?.[Symbol.dispose]()
    this.#timer = undefined
  }

  #dueAt(): number {
    return this.#parts.runtime.clock.monotonic() + this.#fault.delayMs
  }

  #take(parcel: Parcel): void {
    if (this.#isOver) return
    this.#waitingBytes += sizeOf(parcel)
    if (this.#fault.mode === 'DROP') {
      this.#drop(parcel)
      return
    }
    this.#waiting.push(parcel)
    if (this.#waitingBytes >= this.#parts.maxBufferedBytes) this.#parts.from.pause()
    this.#pump()
  }

  #drop(parcel: Parcel): void {
    this.#hasHole = true
    this.#droppedBytes += sizeOf(parcel)
    this.#release(parcel)
  }

  /** Delivers parcels that are due, and schedules itself for the next. */
  #pump(): void {
    this.#cancelTimer()
    const { clock, timers } = this.#parts.runtime
    // A reset does not wait for the receiver to read: its sender is gone.
    while (this.#fault.mode === 'PASS' && (!this.#isSinkFull || this.#isReset)) {
      const [next] = this.#waiting
      if (next === undefined) return
      const waitMs = next.dueAt - clock.monotonic()
      if (waitMs > 0) {
        this.#timer = timers.schedule(waitMs, () => this.#pump())
        return
      }
      this.#waiting.shift()
      this.#deliver(next)
      this.#release(next)
    }
  }

  #deliver(parcel: Parcel): void {
    const { to } = this.#parts
    if (parcel.kind === 'RESET') resetSocket(to)
    if (!to.writable) return
    if (parcel.kind === 'END') to.end()
    if (parcel.kind !== 'BYTES') return
    this.#deliveredBytes += parcel.bytes.length
    this.#isSinkFull = !to.write(parcel.bytes)
  }

  #release(parcel: Parcel): void {
    this.#waitingBytes -= sizeOf(parcel)
    const { from, maxBufferedBytes } = this.#parts
    if (from.isPaused() && this.#waitingBytes < maxBufferedBytes) from.resume()
  }
}

/** Ends a connection with an RST, so that its peer sees a failure and not a regular end. */
export function resetSocket(socket: Socket): void {
  // A connecting socket has nothing to reset, and would stay open until connected. A socket with a pending end cannot
  // be reset, and would fail without closing.
  if (socket.connecting || (socket.writableEnded && !socket.writableFinished)) socket.destroy()
  else socket.resetAndDestroy()
}

function sizeOf(parcel: Parcel): number {
  return parcel.kind === 'BYTES' ? parcel.bytes.length : 0
}
