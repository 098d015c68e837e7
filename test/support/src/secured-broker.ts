/** Turns a private broker into one with TLS, logins and ACLs, and makes the keys for it. */

import type { Buffer } from 'node:buffer'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Admin } from '@platformatic/kafka'
import type { PrivateService } from '@waybill/services'

const run = promisify(execFile)
const storePassword = 'store-password'
const listenerNames = ['SASL_PLAINTEXT', 'SASL_SSL', 'SSL'] as const
type ListenerName = (typeof listenerNames)[number]

/** The user that can log in, and the prefix of the topics, groups and transactional ids it may use. */
export const brokerUser = { name: 'alice', password: 'alice-and-her, secret=1', allowedPrefix: 'allowed.' } as const

/** Lifetime of a login on the listener SASL_SSL. */
export const sessionLifetimeMs = 60_000

/** The address of a listener. */
export interface ListenerAddress {
  readonly host: string
  readonly port: number
}

/** A broker with four listeners. A client on PLAINTEXT needs no login and may do everything. */
export interface SecuredBroker {
  readonly listeners: Readonly<Record<'PLAINTEXT' | ListenerName, ListenerAddress>>
  /** The certificate of the broker, which signed itself. */
  readonly ca: string
  /** The client key and certificate that the listener SSL requires. */
  readonly client: { readonly pfx: Buffer; readonly passphrase: string }
}

/** Restarts a private broker with listeners for TLS and logins, and with ACLs for {@link brokerUser}. */
export async function secureBroker(service: PrivateService): Promise<SecuredBroker> {
  const folder = dirname(service.logFile)
  const [host = '', port = ''] = service.url.split(':')
  const ports = await freePorts(listenerNames.length)
  const listeners = Object.fromEntries(
    listenerNames.map((name, index) => [name, { host, port: ports[index] ?? 0 }]),
  ) as Record<ListenerName, ListenerAddress>
  // A clean stop: the controller does not admit a killed broker again before its session has expired.
  const [keys] = await Promise.all([makeKeys(folder), service.stop()])
  const file = join(folder, 'broker-1', 'server.properties')
  await writeFile(file, withSecurity(await readFile(file, 'utf8'), listeners, keys))
  await service.start()
  await allowUser(service.url)
  return {
    listeners: { ...listeners, PLAINTEXT: { host, port: Number(port) } },
    ca: await readFile(keys.certificateFile, 'utf8'),
    client: { pfx: await readFile(keys.storeFile), passphrase: storePassword },
  }
}

interface KeyFiles {
  readonly storeFile: string
  readonly certificateFile: string
}

/** Creates one key pair for the broker and its clients: each run of keytool takes a second or more. */
async function makeKeys(folder: string): Promise<KeyFiles> {
  const storeFile = join(folder, 'keys.p12')
  const certificateFile = join(folder, 'certificate.pem')
  const store = ['-alias', 'waybill', '-storetype', 'PKCS12', '-keystore', storeFile, '-storepass', storePassword]
  const kind = '-keyalg EC -groupname secp256r1 -validity 2 -ext SAN=ip:127.0.0.1 -dname CN=waybill'
  await run('keytool', ['-genkeypair', ...kind.split(' '), ...store])
  await chmod(storeFile, 0o644) // The broker may run as another user, and the folder is gone with it.
  await run('keytool', ['-exportcert', '-rfc', '-file', certificateFile, ...store])
  return { storeFile, certificateFile }
}

function withSecurity(
  properties: string,
  listeners: Readonly<Record<ListenerName, ListenerAddress>>,
  { storeFile, certificateFile }: KeyFiles,
): string {
  const urls = listenerNames.map((name) => `,${name}://${listeners[name].host}:${listeners[name].port}`).join('')
  const map = listenerNames.map((name) => `,${name}:${name}`).join('')
  return [
    properties
      .replaceAll(/^((?:advertised\.)?listeners=.*)$/gm, `$1${urls}`)
      .replace(/^(listener\.security\.protocol\.map=.*)$/m, `$1${map}`),
    'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    ...loginModules(),
    `listener.name.sasl_ssl.connections.max.reauth.ms=${sessionLifetimeMs}`,
    'ssl.keystore.type=PKCS12',
    `ssl.keystore.location=${storeFile}`,
    `ssl.keystore.password=${storePassword}`,
    `ssl.key.password=${storePassword}`,
    'ssl.truststore.type=PEM',
    `ssl.truststore.location=${certificateFile}`,
    'listener.name.ssl.ssl.client.auth=required',
    'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users=User:ANONYMOUS',
    '',
  ].join('\n')
}

function loginModules(): string[] {
  const login = 'org.apache.kafka.common.security'
  const modules = {
    plain: `${login}.plain.PlainLoginModule required user_${brokerUser.name}="${brokerUser.password}";`,
    'scram-sha-256': `${login}.scram.ScramLoginModule required;`,
    'scram-sha-512': `${login}.scram.ScramLoginModule required;`,
    oauthbearer: `${login}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
  }
  return ['sasl_plaintext', 'sasl_ssl'].flatMap((listener) =>
    Object.entries(modules).map(
      ([mechanism, module]) => `listener.name.${listener}.${mechanism}.sasl.jaas.config=${module}`,
    ),
  )
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

async function allowUser(bootstrap: string): Promise<void> {
  const admin = new Admin({ clientId: 'setup', bootstrapBrokers: [bootstrap], retries: 20, retryDelay: 200 })
  const [topic, group, transactionalId] = [2, 3, 5] as const
  const [prefixed, all, allow] = [4, 2, 3] as const
  try {
    await admin.createAcls({
      creations: [topic, group, transactionalId].map((resourceType) => ({
        resourceType,
        resourceName: brokerUser.allowedPrefix,
        resourcePatternType: prefixed,
        principal: `User:${brokerUser.name}`,
        host: '*',
        operation: all,
        permissionType: allow,
      })),
    })
  } finally {
    await admin.close()
  }
}
