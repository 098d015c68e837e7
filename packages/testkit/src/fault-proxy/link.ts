import type { Socket } from 'node:net'
import type { Runtime } from '@waybill/core'
import { Flow, type FlowFault, resetSocket } from './flow.ts'

/** The faults of both directions. */
export interface LinkFaults {
  readonly toTarget: FlowFault
  readonly toClient: FlowFault
}

/** Counters of the bytes that a {@link Link} has read. */
export interface LinkCount {
  readonly toTargetBytes: number
  readonly toClientBytes: number
  readonly waitingBytes: number
  readonly droppedBytes: number
}

interface LinkParts {
  readonly client: Socket
  readonly target: Socket
  readonly faults: LinkFaults
  readonly maxBufferedBytes: number
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>
}

/** One proxied connection: two sockets, and a flow per direction. */
export class Link {
  /** Resolves when both sockets are closed. */
  readonly closed: Promise<void>
  readonly #sockets: readonly Socket[]
  readonly #toTarget: Flow
  readonly #toClient: Flow

  constructor({ client, target, faults, ...parts }: LinkParts) {
    this.#sockets = [client, target]
    this.#toTarget = new Flow({ from: client, to: target, fault: faults.toTarget, ...parts })
    this.#toClient = new Flow({ from: target, to: client, fault: faults.toClient, ...parts })
    this.closed = Promise.all(this.#sockets.map(socketClosed)).then(() => this.#release())
  }

  get count(): LinkCount {
    const [toTarget, toClient] = [this.#toTarget.count, this.#toClient.count]
    return {
      toTargetBytes: toTarget.deliveredBytes,
      toClientBytes: toClient.deliveredBytes,
      waitingBytes: toTarget.waitingBytes + toClient.waitingBytes,
      droppedBytes: toTarget.droppedBytes + toClient.droppedBytes,
    }
  }

  setFaults({ toTarget, toClient }: LinkFaults): void {
    this.#toTarget.setFault(toTarget)
    this.#toClient.setFault(toClient)
  }

  /** Ends all faults. A connection with dropped bytes is reset instead, because its stream has a gap. */
  heal(): void {
    if (this.#toTarget.hasHole || this.#toClient.hasHole) {
      this.cut()
      return
    }
    this.#toTarget.heal()
    this.#toClient.heal()
  }

  /** Resets both sockets at once. */
  cut(): void {
    this.#release()
    for (const socket of this.#sockets) resetSocket(socket)
  }

  /** Ends both streams at once, like a peer that closes. Bytes in transit are not delivered. */
  end(): void {
    this.#release()
    for (const socket of this.#sockets) socket.end()
  }

  #release(): void {
    this.#toTarget.close()
    this.#toClient.close()
  }
}

function socketClosed(socket: Socket): Promise<void> {
  // Every error is followed by a close event, which suffices.
  socket.on('error', () => {})
  return new Promise((resolve) => socket.once('close', () => resolve()))
}
