import type { Socket } from 'node:net'
import type { Runtime } from '@waybill/core'

/** What becomes of bytes in one direction: they go on, wait for the heal, or are gone. */
export type FlowMode = 'PASS' | 'HOLD' | 'DROP'

/** What is wrong in one direction. */
export interface FlowFault {
  readonly mode: FlowMode
  readonly delayMs: number
}

/** What became of the bytes a {@link Flow} has read. */
export interface FlowCount {
  readonly deliveredBytes: number
  readonly waitingBytes: number
  readonly droppedBytes: number
}

/** One step of a stream. Its end and its reset travel like bytes: a fault that stops those stops these. */
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
 * One direction of one connection. Parcels leave in the order they came, each when it is due and those before it are
 * gone: a delay that shrinks meanwhile lets nothing overtake. At most `maxBufferedBytes` (and one read) wait here: beyond, the
 * source is not read, so that its sender feels the back-pressure as through a real network. Node notices the death of a
 * source only while it reads it: at the bound it goes unseen until something has been delivered.
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
      // Closed without an end of its stream: by a reset, or because it never got a connection.
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

  /** Something was dropped. TCP never delivers a stream with a hole, so this one can only be cut. */
  get hasHole(): boolean {
    return this.#hasHole
  }

  /** Changes the fault for what comes; what waits keeps its time, and is dropped if that is the fault. */
  setFault(fault: FlowFault): void {
    this.#fault = fault
    if (fault.mode === 'DROP') for (const parcel of this.#waiting.splice(0)) this.#drop(parcel)
    this.#pump()
  }

  /** Ends the fault, and what waits is due now. */
  heal(): void {
    this.#fault = { mode: 'PASS', delayMs: 0 }
    for (const [at, parcel] of this.#waiting.entries()) this.#waiting[at] = { ...parcel, dueAt: 0 }
    this.#pump()
  }

  /** Forgets what waits and what still comes; reads on, so as to see the end. */
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

  /** Delivers what is due, and comes again when the next parcel is. */
  #pump(): void {
    this.#cancelTimer()
    const { clock, timers } = this.#parts.runtime
    // A reset does not wait for a receiver to read, and there is nobody left to hold up.
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

/** Ends a connection with an RST, so that its peer sees a failure and not an end. */
export function resetSocket(socket: Socket): void {
  // One that still connects has nothing to reset, and would be left alone until it has; one whose end is still on its
  // way cannot be reset any more, and would fail without ever closing.
  if (socket.connecting || (socket.writableEnded && !socket.writableFinished)) socket.destroy()
  else socket.resetAndDestroy()
}

function sizeOf(parcel: Parcel): number {
  return parcel.kind === 'BYTES' ? parcel.bytes.length : 0
}
