import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ArgumentError, createService, type Service } from '@waybill/core'
import { integer, resolveOptions, text } from '@waybill/core/option'
import { isLoopback } from '../access/loopback.ts'
import type { Admin } from './create-admin.ts'

/** Where a server of its own listens. */
export interface AdminServerOptions {
  /** @defaultValue 127.0.0.1 */
  readonly host?: string
  /** 0 takes a free port. @defaultValue 4400 */
  readonly port?: number
  /** Whether operators are identified: without it only loopback addresses are allowed. @defaultValue false */
  readonly isIdentified?: boolean
}

/** A server that has only the admin API. */
export interface AdminServer extends Service {
  /** The URL, once it is started. */
  readonly url: string
}

const rules = {
  host: text({ default: '127.0.0.1', because: 'an admin API is not for everyone on the network' }),
  port: integer({ default: 4_400, min: 0, max: 65_535, because: 'few programs use it' }),
}

const longestHeaderBytes = 16 * 1024

/**
 * Creates a server of its own for an admin. Stopping it closes the admin.
 * @throws ArgumentError for an address beyond this machine without `isIdentified`
 */
export function createAdminServer(admin: Admin, options: AdminServerOptions = {}): AdminServer {
  const { isIdentified = false, ...given } = options
  const { host, port } = resolveOptions('createAdminServer', rules, given)
  if (!isIdentified && host !== 'localhost' && !isLoopback(host))
    throw new ArgumentError(`Cannot listen on ${host} without an identity.`, {
      hint: 'Pass identify to createAdmin and isIdentified: true, or listen on 127.0.0.1.',
    })
  let server: Server | undefined
  let url = ''
  const service = createService({
    name: 'admin server',
    async start() {
      server = createServer({ maxHeaderSize: longestHeaderBytes, requestTimeout: 60_000 }, admin.listener)
      server.listen(port, host)
      await once(server, 'listening')
      const { address, family, port: bound } = server.address() as AddressInfo
      url = `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`
    },
    async stop() {
      await admin.close()
      if (server === undefined) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  })
  return Object.defineProperty(service, 'url', { get: () => url }) as AdminServer
}
