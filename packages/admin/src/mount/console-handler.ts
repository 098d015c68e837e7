import type { Logger } from '@waybill/core'
import type { AdminRequest } from '../http/admin-request.ts'
import { type AdminResponse, securityHeaders } from '../http/admin-response.ts'
import { type ConsoleFile, consoleFile, pageAt } from './console-files.ts'

/** Assets have the hash of their content in their name. */
const assetsFolder = '/assets/'
const forever = 'public, max-age=31536000, immutable'
/** A page is the same file at every path, so few depths are asked for. */
const deepest = 8

/**
 * Answers requests for the console: files, and the page at every path that a browser opens and the API does not have. They
 * need no identity, because they hold no data; each request of the page to the API does.
 */
export class ConsoleHandler {
  readonly #read: () => Promise<ReadonlyMap<string, ConsoleFile>>
  readonly #isRoute: (path: string) => boolean
  readonly #logger: Logger
  #files: Promise<ReadonlyMap<string, ConsoleFile>> | undefined

  /** @param isRoute - whether the API answers a path */
  constructor(
    read: () => Promise<ReadonlyMap<string, ConsoleFile>>,
    isRoute: (path: string) => boolean,
    logger: Logger,
  ) {
    this.#read = read
    this.#isRoute = isRoute
    this.#logger = logger
  }

  /** Returns undefined for a request of the API. Never rejects. */
  async answer(request: AdminRequest): Promise<AdminResponse | undefined> {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    const path = request.url.replace(/[?#].*$/s, '') || '/'
    const isPage = this.#isPage(path, request)
    if (!isPage && !path.startsWith(assetsFolder)) return undefined
    const redirect = isPage ? toMountPath(path, request) : undefined
    if (redirect !== undefined) return { status: 308, headers: { ...securityHeaders, location: redirect }, body: '' }
    try {
      const files = await (this.#files ??= this.#read())
      const file = isPage ? await pageOf(files, path) : files.get(path)
      return file === undefined ? undefined : answerOf(file, request, isPage ? 'no-cache' : forever)
    } catch (err) {
      // The next request reads them again.
      this.#files = undefined
      this.#logger.error({ err }, 'Files of the console not read')
      return undefined
    }
  }

  #isPage(path: string, { headers }: AdminRequest): boolean {
    if (path === '/') return true
    if (path.startsWith(assetsFolder) || /^\/eventbus(?:\/|$)/.test(path) || this.#isRoute(path)) return false
    return headers['accept']?.includes('text/html') === true
  }
}

/** Returns where a page at the mount path without its final slash is: its relative links would lead beside it. */
function toMountPath(path: string, { url, originalPath }: AdminRequest): string | undefined {
  if (path !== '/' || originalPath === undefined || originalPath.endsWith('/')) return undefined
  const query = /\?[^#]*/.exec(url)?.[0] ?? ''
  return `./${originalPath.slice(originalPath.lastIndexOf('/') + 1)}/${query}`
}

async function pageOf(files: ReadonlyMap<string, ConsoleFile>, path: string): Promise<ConsoleFile | undefined> {
  const index = files.get('/index.html')
  const depth = path.split('/').length - 2
  if (index === undefined || depth > deepest) return undefined
  return depth === 0 ? index : consoleFile('/index.html', pageAt(depth, index))
}

function answerOf(file: ConsoleFile, { method, headers }: AdminRequest, cacheControl: string): AdminResponse {
  const { etag, type, body, gzipped } = file
  const isGzipped =
    gzipped !== undefined && /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s*,|\s*$))/.test(headers['accept-encoding'] ?? '')
  const usual = { ...securityHeaders, 'cache-control': cacheControl, etag, vary: 'accept-encoding' }
  if (headers['if-none-match']?.includes(etag) === true) return { status: 304, headers: usual, body: '' }
  return {
    status: 200,
    headers: { ...usual, 'content-type': type, ...(isGzipped ? { 'content-encoding': 'gzip' } : {}) },
    body: method === 'HEAD' ? '' : isGzipped ? gzipped : body,
  }
}
