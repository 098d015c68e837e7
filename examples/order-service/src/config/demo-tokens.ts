/** Keys and tokens of the demo. A real service gets its tokens from an issuer and knows its public keys only. */

import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { createLocalJWKSet, exportJWK, generateKeyPair, importJWK, type JWK, type JWTVerifyGetKey, SignJWT } from 'jose'

const keyId = 'demo'
const algorithm = 'ES256'

/** The file of the private key, readable by its owner alone. Made once, so that `token` and `serve` share it. */
export const demoKeyFile: string = join(homedir(), '.cache', 'waybill', 'order-service', 'demo-key.json')

/** The claims of a demo token. */
export interface DemoClaims {
  readonly subject: string
  readonly role: string
  readonly issuer: string
  readonly audience: string
  readonly lifetimeSeconds?: number
}

/** Returns the public keys that demo tokens are checked with. */
export async function demoKeys(file: string = demoKeyFile): Promise<JWTVerifyGetKey> {
  const { kty, crv, x, y } = await privateKey(file)
  const publicKey = { kty, crv, x, y, kid: keyId, alg: algorithm, use: 'sig' } as JWK
  return createLocalJWKSet({ keys: [publicKey] })
}

/** Returns a token that the demo instance accepts. */
export async function demoToken(claims: DemoClaims, file: string = demoKeyFile): Promise<string> {
  const { subject, role, issuer, audience, lifetimeSeconds = 3_600 } = claims
  return new SignJWT({ roles: [role] })
    .setProtectedHeader({ alg: algorithm, kid: keyId })
    .setSubject(subject)
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1_000) + lifetimeSeconds)
    .sign(await importJWK(await privateKey(file), algorithm))
}

async function privateKey(file: string): Promise<JWK> {
  const stored = await readFile(file, 'utf8').catch(() => null) // Made below.
  return JSON.parse(stored ?? (await createKey(file))) as JWK
}

/** Of two processes that create the key at once, one wins and both use its key. */
async function createKey(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true })
  const { privateKey: created } = await generateKeyPair(algorithm, { extractable: true })
  const own = `${file}.${process.pid}`
  await writeFile(own, JSON.stringify(await exportJWK(created)), { mode: 0o600 })
  await chmod(own, 0o600)
  await link(own, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(own)
  return readFile(file, 'utf8')
}
