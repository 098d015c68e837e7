import { connect, createServer } from 'node:net'

/** The address that all services started here listen on: only this machine can reach it. */
export const loopback = '127.0.0.1'

/** Returns true when something accepts connections there. */
export function isListening(host: string, port: number, timeoutMs = 1_000): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs })
    const answer = (listens: boolean) => () => {
      socket.destroy()
      resolve(listens)
    }
    socket.once('connect', answer(true)).once('error', answer(false)).once('timeout', answer(false))
  })
}

/**
 * Returns a free port. It is below the range of outgoing connections, so that none of those takes it between this check
 * and the service's start.
 */
export async function findFreePort(random: () => number = Math.random): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 20_000 + Math.floor(random() * 12_000)
    if (await canListen(port)) return port
  }
  throw new Error('No free port from 20000 to 31999 after 100 tries.')
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: loopback, port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
