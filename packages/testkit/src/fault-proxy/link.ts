import type { Socket } from 'node:net'
import type { Runtime } from '@waybill/core'
import { Flow, type FlowFault, resetSocket } from './flow.ts'

/** What is wrong on the way to the target, and on the way back. */
export interface LinkFaults {
  readonly toTarget: FlowFault
  readonly toClient: FlowFault
}

/** What became of the bytes a {@link Link} has read. */
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

/** One proxied connection: two sockets and a flow each way. */
export class Link {
  /** Resolves when both sockets are gone. */
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

  /** Ends all faults. A connection that lost something is cut instead: it could only go on with a hole in its stream. */
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

  /** Ends both streams at once, as a peer that closes would. Bytes on their way are not delivered. */
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
  // Each error is followed by the close, which says enough.
  socket.on('error', () => {})
  return new Promise((resolve) => socket.once('close', () => resolve()))
}
