import { AdminRequestError } from '../problem/admin-errors.ts'

const maxUrlBytes = 4 * 1024
const maxHeaderBytes = 16 * 1024

/** The parts of a URL, decoded. */
export interface RequestUrl {
  /** The path as it was sent, without the query. */
  readonly path: string
  readonly segments: readonly string[]
  /** The value of each parameter, which must come once. */
  readonly query: Readonly<Record<string, string>>
}

/** Reads a URL. @throws AdminRequestError if it is too long, cannot be decoded, or repeats a parameter */
export function readUrl(url: string): RequestUrl {
  if (url.length > maxUrlBytes)
    throw new AdminRequestError(`The URL is longer than ${maxUrlBytes} bytes.`, { status: 414 })
  const [path, search] = split(url.replace(/#.*$/s, ''))
  const segments = path.split('/').slice(1).map(decode)
  const query: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(search)) {
    if (Object.hasOwn(query, name))
      throw new AdminRequestError('The URL has a parameter more than once.', { parameter: name.slice(0, 60) })
    query[name] = value
  }
  return { path, segments, query: { ...query } }
}

/** Refuses a header block that is too large, for hosts that admit more. @throws AdminRequestError */
export function checkHeaders(headers: Readonly<Record<string, string | undefined>>): void {
  const bytes = Object.entries(headers).reduce((sum, [name, value = '']) => sum + name.length + value.length + 4, 0)
  if (bytes > maxHeaderBytes)
    throw new AdminRequestError(`The headers have more than ${maxHeaderBytes} bytes.`, { status: 431 })
}

function split(url: string): readonly [string, string] {
  const mark = url.indexOf('?')
  return mark === -1 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}

function decode(segment: string): string {
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    throw new AdminRequestError('The path cannot be decoded.')
  }
  if (text === '.' || text === '..' || /\p{Cc}/u.test(text)) throw new AdminRequestError('The path cannot be decoded.')
  return text
}
