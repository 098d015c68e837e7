import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { eventually } from '@waybill/testkit'

/** One end of a TCP connection, and everything that happened to it. */
export class TcpPeer implements Disposable {
  readonly socket: Socket
  /** Resolves with the code of its error, or 'CLOSED' when it was closed in order. */
  readonly closed: Promise<string>
  readonly #chunks: Buffer[] = []

  constructor(socket: Socket) {
    this.socket = socket
    let code = 'CLOSED'
    socket.on('error', (error: NodeJS.ErrnoException) => {
      code = error.code ?? error.message
    })
    this.closed = new Promise((resolve) => socket.once('close', () => resolve(code)))
    socket.on('data', (chunk) => this.#chunks.push(chunk))
  }

  get received(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  get isClosed(): boolean {
    return this.socket.closed
  }

  /** Waits until exactly this has arrived. */
  async receives(expected: string): Promise<void> {
    await eventually(() => {
      if (this.received.toString() !== expected) throw new Error(`received ${JSON.stringify(this.received.toString())}`)
    })
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }
}

/** A server that answers every byte with itself, and ends when its client does. */
export class EchoServer implements AsyncDisposable {
  /** Its ends of the connections, in the order of their coming. */
  readonly peers: TcpPeer[] = []
  readonly #server: Server

  constructor() {
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      this.peers.push(new TcpPeer(socket))
      socket.pipe(socket)
    })
  }

  static async start(): Promise<EchoServer> {
    const echo = new EchoServer()
    echo.#server.listen(0, '127.0.0.1')
    await once(echo.#server, 'listening')
    return echo
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The n-th connection, once it is there. */
  async peer(index = 0): Promise<TcpPeer> {
    return eventually(() => {
      const peer = this.peers[index]
      if (peer === undefined) throw new Error(`only ${this.peers.length} connections`)
      return peer
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of this.peers) peer[Symbol.dispose]()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** Begins to connect to a port of this machine. */
export function dial(port: number): TcpPeer {
  return new TcpPeer(connect({ port, host: '127.0.0.1', noDelay: true }))
}

/** Connects to a port of this machine. */
export async function connectTo(port: number): Promise<TcpPeer> {
  const peer = dial(port)
  await once(peer.socket, 'connect')
  return peer
}
