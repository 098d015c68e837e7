import type { AdminRequest, RequestBody } from '../http/admin-request.ts'
import { mediaTypeOf } from '../http/media-type.ts'
import { readJson } from '../json/read-json.ts'
import { AdminRequestError } from '../problem/admin-errors.ts'

/**
 * Reads a body as JSON; undefined if it is empty.
 * @throws AdminRequestError if it is too large, compressed, of another media type, or not JSON
 */
export async function readBody(
  { headers }: AdminRequest,
  body: RequestBody,
  maxBytes: number,
): Promise<{ readonly value: unknown; readonly bytes: Buffer } | undefined> {
  const announced = Number(headers['content-length'] ?? 0)
  if (announced > maxBytes) throw tooLarge(maxBytes)
  if (body === 'CONSUMED')
    throw new AdminRequestError('A body parser of the host has read the body before the admin API.', {
      hint: 'Mount the admin before body parsers such as express.json().',
    })
  const bytes = await collect(body, maxBytes)
  if (bytes.length === 0) return undefined
  const type = mediaTypeOf(headers['content-type'])
  if (type !== 'application/json')
    throw new AdminRequestError(
      `The body must be application/json, not ${type === undefined ? 'untyped' : 'another type'}.`,
      { status: 415 },
    )
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new AdminRequestError('The body must not be compressed.', { status: 415 })
  return { value: readJson(bytes), bytes }
}

async function collect(body: AsyncIterable<Uint8Array> | undefined, maxBytes: number): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(maxBytes: number): AdminRequestError {
  return new AdminRequestError(`The body is larger than ${maxBytes} bytes.`, { status: 413 })
}
