import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Random } from '@waybill/core/internal'
import type { KafkaTransport, NodeAddress } from '@waybill/kafka/wire'

/** Which responses are dropped. */
export interface ResponseThiefOptions {
  readonly target: NodeAddress
  /** Kafka's API key: 0 is Produce. */
  readonly apiKey: number
  /** Share of its responses that never arrive. */
  readonly share: number
  readonly random: Random
}

/**
 * A proxy between a client and a broker that drops responses: the request was served, and the client never learns of
 * it. Mostly it also resets the connection; one time in five that stays open and silent.
 */
export class ResponseThief implements AsyncDisposable {
  /** Responses of the kind that passed, and those of them that were dropped. */
  seen = 0
  stolen = 0
  readonly #options: ResponseThiefOptions
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(options: ResponseThiefOptions) {
    this.#options = options
    this.#server = createServer((client) => this.#join(client))
  }

  static async start(options: ResponseThiefOptions): Promise<ResponseThief> {
    const thief = new ResponseThief(options)
    thief.#server.listen(0, '127.0.0.1')
    await once(thief.#server, 'listening')
    return thief
  }

  /** Returns the same transport with every connection through this proxy. */
  before(transport: KafkaTransport): KafkaTransport {
    const { port } = this.#server.address() as AddressInfo
    return { connect: (_, clientId, signal) => transport.connect({ host: '127.0.0.1', port }, clientId, signal) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket): void {
    const { target, apiKey, share, random } = this.#options
    const broker = connect(target.port, target.host)
    const wanted = new Set<number>()
    let isSilent = false
    const end = (): void => {
      client.destroy()
      broker.destroy()
    }
    for (const socket of [client, broker]) {
      this.#sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          this.#sockets.delete(socket)
          end()
        })
    }
    client.on(
      'data',
      byFrame((frame) => {
        if (frame.readInt16BE(4) === apiKey) wanted.add(frame.readInt32BE(8))
        broker.write(frame)
      }),
    )
    broker.on(
      'data',
      byFrame((frame) => {
        if (isSilent) return
        const isWanted = wanted.delete(frame.readInt32BE(4))
        if (isWanted) this.seen++
        if (!isWanted || random() >= share) {
          client.write(frame)
          return
        }
        this.stolen++
        if (random() < 0.8) end()
        else isSilent = true
      }),
    )
  }
}

/** Assembles a stream to frames of Kafka's protocol, including their lengths. */
function byFrame(take: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const end = 4 + rest.readInt32BE(0)
      take(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  }
}
