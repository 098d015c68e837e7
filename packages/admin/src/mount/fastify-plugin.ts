import type { IncomingMessage, ServerResponse } from 'node:http'
import type { NodeListener } from './node-listener.ts'

/** The parts of Fastify that the plugin uses. */
export interface FastifyHost {
  readonly prefix: string
  removeAllContentTypeParsers(): void
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): unknown
  all(path: string, handler: (request: FastifyCall, reply: FastifyAnswer) => unknown): unknown
}

/** A request of Fastify. */
export interface FastifyCall {
  readonly raw: IncomingMessage
}

/** A reply of Fastify. */
export interface FastifyAnswer {
  readonly raw: ServerResponse
  hijack(): unknown
}

/** A plugin: `app.register(admin.fastify, { prefix: '/ops' })`. */
export type FastifyAdminPlugin = (instance: FastifyHost, options: unknown, done: () => void) => void

/**
 * Creates the plugin. Hooks of the host, such as its authentication, run first. Its body parsers do not: the admin reads
 * bodies itself, with its own limits.
 */
export function fastifyPlugin(listener: NodeListener): FastifyAdminPlugin {
  return (instance, _options, done) => {
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
    const pass = ({ raw }: FastifyCall, reply: FastifyAnswer): void => {
      const incoming: IncomingMessage & { originalUrl?: string | undefined } = raw
      reply.hijack()
      incoming.originalUrl = incoming.url
      incoming.url = withoutPrefix(incoming.url ?? '/', instance.prefix)
      listener(incoming, reply.raw)
    }
    instance.all('/*', pass)
    // The mount path itself, without a final slash.
    if (instance.prefix !== '') instance.all('', pass)
    done()
  }
}

/** Removes the mount path from a URL. */
export function withoutPrefix(url: string, prefix: string): string {
  if (prefix === '' || !url.startsWith(prefix)) return url
  const rest = url.slice(prefix.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url
}
