import { type KafkaConnection, type KafkaTransport, TransportError } from '@waybill/kafka/wire'
import { type ChildMessage, type ParentMessage, pack, tellFailure, unpack } from './channel-message.ts'

/** The parent's end of the channel to a forked child, as `ChildProcess` has it. */
export interface ChildChannel {
  readonly pid?: number | undefined
  readonly connected: boolean
  send(message: object, callback: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect', listener: () => void): unknown
}

interface Opening {
  readonly attempt: AbortController
  connection?: KafkaConnection
}

/**
 * Lends a transport to a child process. When the child goes, its connections end, as the kernel ends the sockets of a
 * process that was killed: what it had sent is still served.
 */
export function serveTransport(transport: KafkaTransport, child: ChildChannel): void {
  /** By the id of the message that opened them. An entry without a connection is an attempt that is still under way. */
  const open = new Map<number, Opening>()

  const tell = (message: ParentMessage): void => {
    // A child that has exited needs neither the answer nor a notice.
    if (child.connected) child.send(pack(message), () => {})
  }

  const connect = async ({ id, node, clientId }: Extract<ChildMessage, { kind: 'connect' }>): Promise<void> => {
    const attempt = new AbortController()
    const entry: Opening = { attempt }
    open.set(id, entry)
    try {
      const connection = await transport.connect(node, clientId, attempt.signal)
      if (!open.has(id)) return connection.close() // Given up meanwhile.
      entry.connection = connection
      tell({ kind: 'answer', id, response: null })
      const reason = await connection.ended
      tell({ kind: 'ended', connection: id, reason: reason === null ? null : tellFailure(reason) })
    } catch (thrown) {
      tell({ kind: 'failure', id, failure: tellFailure(thrown) })
    } finally {
      open.delete(id)
    }
  }

  const send = async ({ id, connection, api, request }: Extract<ChildMessage, { kind: 'send' }>): Promise<void> => {
    try {
      const opened = open.get(connection)?.connection
      if (opened === undefined) throw new TransportError('The connection is over.', 'NOT_SENT')
      tell({ kind: 'answer', id, response: await opened.send(api, request) })
    } catch (thrown) {
      tell({ kind: 'failure', id, failure: tellFailure(thrown) })
    }
  }

  const close = (id: number): void => {
    const entry = open.get(id)
    open.delete(id)
    entry?.attempt.abort()
    entry?.connection?.close()
  }

  child.on('message', (received) => {
    const message = unpack(received) as ChildMessage | undefined
    if (message === undefined) return
    if (message.kind === 'connect') void connect(message)
    else if (message.kind === 'send') void send(message)
    else close(message.connection)
  })
  child.once('disconnect', () => {
    for (const id of open.keys()) close(id)
  })
}
