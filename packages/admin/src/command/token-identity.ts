import { createHash, timingSafeEqual } from 'node:crypto'
import { ArgumentError } from '@waybill/core'
import type { AdminIdentity } from '../access/access.ts'
import type { AdminRequest } from '../http/admin-request.ts'

/** A shorter token can be guessed. */
const shortestToken = 16

/**
 * Returns who sends a request, by its bearer token. Tokens are compared by their hashes, in a time that tells nothing of them.
 * @param lines - `NAME TOKEN`; empty lines and those that begin with # are passed over
 * @throws ArgumentError for a line of another form, or without any token
 */
export function tokenIdentity(lines: string): (request: AdminRequest) => AdminIdentity | null {
  const known = lines.split(/\r?\n/).flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    const [by, token, ...more] = line.trim().split(/\s+/)
    if (by === undefined || token === undefined || more.length > 0 || token.length < shortestToken)
      throw new ArgumentError(
        `Line ${index + 1} of the tokens is not NAME TOKEN with at least ${shortestToken} characters.`,
      )
    return [{ by, hash: hashOf(token) }]
  })
  if (known.length === 0) throw new ArgumentError('The file of tokens has none.')
  return ({ headers }) => {
    const token = /^bearer (\S+)$/i.exec(headers['authorization'] ?? '')?.[1]
    if (token === undefined) return null
    const hash = hashOf(token)
    const found = known.find((one) => timingSafeEqual(one.hash, hash))
    return found === undefined ? null : { by: found.by }
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
