import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'

/** The request has no token, or one that is not accepted. */
export class UnauthenticatedError extends Error {
  constructor(why: string, options?: ErrorOptions) {
    super(`${why} Send a valid access token: Authorization: Bearer …`, options)
    this.name = 'UnauthenticatedError'
  }
}

/** The keys of the token issuer cannot be read: nothing is known of the token. */
export class IssuerUnavailableError extends Error {
  constructor(cause: unknown) {
    super('Access tokens cannot be checked at present.', { cause })
    this.name = 'IssuerUnavailableError'
  }
}

/** An authenticated user or program. */
export interface Principal {
  readonly subject: string
  /** Without the prefix `ROLE_`. */
  readonly roles: ReadonlySet<string>
}

/** The claims that a token must have. */
export interface TokenRules {
  readonly issuer: string
  readonly audience: string
  /** Returns the public key of a token, by its `kid`. */
  readonly keys: JWTVerifyGetKey
}

/** Returns who sends a request. @throws UnauthenticatedError, IssuerUnavailableError */
export type Authenticate = (authorization: string | undefined) => Promise<Principal>

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
      throw isAboutToken(cause)
        ? new UnauthenticatedError('The access token is not accepted.', { cause })
        : new IssuerUnavailableError(cause)
    })
    return principalOf(payload)
  }
}

/** Whether the token is at fault. Otherwise the keys of the issuer could not be read. */
function isAboutToken(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && /^ERR_(?:JW[ST]_|JWKS_.*MATCHING|JOSE_(?:ALG|NOT))/.test(code)
}

function principalOf({ sub, roles }: JWTPayload): Principal {
  // Databases compare some texts as equal that are not, such as those that differ in spaces at the end.
  // A claim may have any type, whatever its declaration says.
  if (typeof sub !== 'string' || sub.length > 255 || !/^[!-~](?:[ -~]*[!-~])?$/.test(sub))
    throw new UnauthenticatedError('The subject of the access token is not accepted.')
  const names = Array.isArray(roles) ? roles.filter((role): role is string => typeof role === 'string') : []
  return { subject: sub, roles: new Set(names.map((role) => role.replace(/^ROLE_/, ''))) }
}
