import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { Caller } from '../../application/caller.ts'

/** The request has no token, or one that is not accepted. */
export class UnauthenticatedError extends Error {
  constructor(why: string, options?: ErrorOptions) {
    super(`${why} Send a valid access token: Authorization: Bearer …`, options)
    this.name = 'UnauthenticatedError'
  }
}

/** The claims that a token must have. */
export interface TokenRules {
  readonly issuer: string
  readonly audience: string
  /** Returns the public key of a token, by its `kid`. */
  readonly keys: JWTVerifyGetKey
}

/** Returns the caller of a request. @throws UnauthenticatedError */
export type Authenticate = (authorization: string | undefined) => Promise<Caller>

// Public keys only. With HS256 among them, a public key would pass as a shared secret; `none` needs no key at all.
const algorithms = ['RS256', 'ES256']
const clockToleranceSeconds = 5
const longestToken = 8 * 1024

/** Creates the check of access tokens. */
export function createTokenAuthenticator({ issuer, audience, keys }: TokenRules): Authenticate {
  const rules = { issuer, audience, algorithms, clockTolerance: clockToleranceSeconds, requiredClaims: ['exp', 'sub'] }
  return async (authorization) => {
    const token = /^Bearer ([\w.~+/=-]+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) throw new UnauthenticatedError('There is no access token.')
    if (token.length > longestToken) throw new UnauthenticatedError('The access token is too long.')
    const { payload } = await jwtVerify(token, keys, rules).catch((cause: unknown) => {
      throw new UnauthenticatedError('The access token is not accepted.', { cause })
    })
    return callerOf(payload)
  }
}

function callerOf({ sub, roles }: JWTPayload): Caller {
  // Databases compare some texts as equal that are not, such as those that differ in spaces at the end.
  if (sub === undefined || sub.length > 255 || !/^[!-~](?:[ -~]*[!-~])?$/.test(sub))
    throw new UnauthenticatedError('The subject of the access token is not accepted.')
  const names = Array.isArray(roles) ? roles : []
  return { subject: sub, isAdmin: names.some((role) => role === 'ADMIN' || role === 'ROLE_ADMIN') }
}
