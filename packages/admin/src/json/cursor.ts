import { createHash } from 'node:crypto'
import { isPlainObject } from '@waybill/core/option'
import { AdminRequestError } from '../problem/admin-errors.ts'
import { writeJson } from './write-json.ts'

/** Writes where a list continues. It is opaque to clients, and valid with the same filter only. */
export function writeCursor(position: string, filter: unknown): string {
  return Buffer.from(JSON.stringify({ p: position, f: hashOf(filter) })).toString('base64url')
}

/** Reads where a list continues. @throws AdminRequestError if this API did not write it, or wrote it for another filter */
export function readCursor(cursor: string | undefined, filter: unknown): string | undefined {
  if (cursor === undefined) return undefined
  const { position, hash } = parsed(cursor)
  if (position === undefined) throw invalidCursor()
  if (hash !== hashOf(filter))
    throw new AdminRequestError('The cursor belongs to a list with another filter.', {
      reason: 'CURSOR_MISMATCH',
      hint: 'Begin without a cursor.',
    })
  return position
}

/** Returns the error for a cursor that this API did not write. */
export function invalidCursor(): AdminRequestError {
  return new AdminRequestError('The cursor was not written by this API.', { reason: 'CURSOR_INVALID' })
}

/** Reads a position whose form is known. @throws AdminRequestError for another form */
export function readPosition(cursor: string | undefined, filter: unknown, form: RegExp): string | undefined {
  const position = readCursor(cursor, filter)
  if (position !== undefined && !form.test(position)) throw invalidCursor()
  return position
}

function parsed(cursor: string): { readonly position: string | undefined; readonly hash: unknown } {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (isPlainObject(value) && typeof value['p'] === 'string' && !/\p{Cc}/u.test(value['p']))
      return { position: value['p'], hash: value['f'] }
  } catch {
    // Not of this API: told as such.
  }
  return { position: undefined, hash: undefined }
}

function hashOf(filter: unknown): string {
  return createHash('sha256')
    .update(writeJson(filter) ?? '')
    .digest('base64url')
    .slice(0, 12)
}
