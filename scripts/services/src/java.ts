import { join } from 'node:path'
import { canExecute, findExecutable, run } from './process/executable.ts'
import type { SystemUser } from './process/service-process.ts'
import { asUser } from './process/system-user.ts'
import { ServiceError } from './service.ts'

const oldestJava = 17
const howToInstall = 'Install a Java runtime of version 17 or later (Debian: apt-get install openjdk-17-jre-headless).'

/** Returns the Java of JAVA_HOME, or of the PATH. Throws when there is none, or when it cannot run the service as its user. */
export async function findJava(
  service: string,
  userOf: () => Promise<SystemUser | undefined> = async () => undefined,
): Promise<string> {
  const home = process.env['JAVA_HOME']
  const ofHome = home === undefined || home === '' ? undefined : join(home, 'bin', 'java')
  const java = ofHome !== undefined && (await canExecute(ofHome)) ? ofHome : await findExecutable('java')
  if (java === undefined)
    throw new ServiceError(`${service} needs Java, and there is none on this machine.`, howToInstall)
  const version = majorVersionOf(await run(java, ['-version'], { folder: '/', ...asUser(await userOf()) }))
  if (version < oldestJava)
    throw new ServiceError(`${service} needs Java 17 or later; ${java} is ${version}.`, howToInstall)
  return java
}

/**
 * Parses the major version: 17 of `openjdk version "17.0.15" 2025-04-15`, 8 of `java version "1.8.0_402"`; otherwise 0.
 */
export function majorVersionOf(text: string): number {
  return Number.parseInt(/version "(?:1\.)?(\d+)/.exec(text)?.[1] ?? '0', 10)
}
