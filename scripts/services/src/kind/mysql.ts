import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { RowDataPacket } from 'mysql2/promise'
import { loopback } from '../port.ts'
import { findExecutable, plainEnvironment, run } from '../process/executable.ts'
import type { SystemUser } from '../process/service-process.ts'
import { asUser, handOver, serverUser } from '../process/system-user.ts'
import { type Answer, obstacleTo, ServiceError } from '../service.ts'
import { type Launch, type LaunchRequest, probeTimeoutMs, type ServiceKind } from './service-kind.ts'

const howToInstall = 'Install MariaDB 10.6 or later (Debian: apt-get install mariadb-server) or MySQL 8.'

/** MariaDB, or MySQL where only that is installed, from the machine's own binaries. */
export const mysql: ServiceKind = {
  title: 'MariaDB or MySQL',
  variable: 'MYSQL_URL',
  usualPort: 3306,
  urlAt: (port) => `mysql://root@${loopback}:${port}/`,
  probe,
  findObstacle: () => obstacleTo(findInstallation),
  prepare,
}

async function probe(url: string): Promise<Answer> {
  const { createConnection } = await import('mysql2/promise')
  const connection = await createConnection({ uri: url, connectTimeout: probeTimeoutMs })
  try {
    const [rows] = await connection.query<({ version: string } & RowDataPacket)[]>({
      sql: 'select version() as version',
      timeout: probeTimeoutMs,
    })
    return { version: rows[0]?.version ?? 'unknown' }
  } finally {
    connection.destroy()
  }
}

/** The installed programs: the server, and the one that creates an empty database for it. */
interface Installation {
  readonly label: 'MariaDB' | 'MySQL'
  readonly version: string
  readonly server: string
  readonly installer: string
}

async function findInstallation(): Promise<Installation> {
  const server = await findExecutable('mariadbd', 'mysqld')
  if (server === undefined) throw new ServiceError('There is no mariadbd and no mysqld on this machine.', howToInstall)
  const text = await run(server, ['--version'])
  const version = /Ver (\S+)/.exec(text)?.[1] ?? 'unknown'
  if (!text.includes('MariaDB')) return { label: 'MySQL', version, server, installer: server }
  const installer = await findExecutable('mariadb-install-db', 'mysql_install_db')
  if (installer === undefined)
    throw new ServiceError(`There is ${server} on this machine, but no mariadb-install-db.`, howToInstall)
  return { label: 'MariaDB', version, server, installer }
}

async function prepare({ folder, logFile, port, progress }: LaunchRequest): Promise<Launch> {
  const installation = await findInstallation()
  const { label, version, server } = installation
  const user = await serverUser(label, 'mysql')
  await handOver(folder, user)
  const data = join(folder, 'data')
  await mkdir(data, { recursive: true })
  await handOver(data, user)
  progress('creating an empty database')
  await createData(installation, data, folder, user)
  const url = mysql.urlAt(port)
  return {
    url,
    answer: { version },
    processes: [
      {
        label,
        command: server,
        args: [
          '--no-defaults',
          `--datadir=${data}`,
          `--socket=${join(folder, 'socket')}`,
          `--pid-file=${join(folder, 'pid')}`,
          `--port=${port}`,
          `--bind-address=${loopback}`,
          '--skip-name-resolve',
          '--innodb-buffer-pool-size=64M',
          // Commits reach the system at once and the disk within a second: a killed server loses nothing.
          '--innodb-flush-log-at-trx-commit=2',
          '--max-connections=200',
        ],
        folder,
        logFile,
        environment: plainEnvironment(),
        ...asUser(user),
        stopSignal: 'SIGTERM',
        probe: () => probe(url),
      },
    ],
  }
}

async function createData(
  { label, server, installer }: Installation,
  data: string,
  folder: string,
  user: SystemUser | undefined,
): Promise<void> {
  const args =
    label === 'MySQL' ? ['--initialize-insecure'] : ['--auth-root-authentication-method=normal', '--skip-test-db']
  const environment = plainEnvironment()
  await run(installer, ['--no-defaults', ...args, `--datadir=${data}`], {
    folder,
    ...asUser(user),
    // MariaDB's installer is a script that searches for the server.
    environment: { ...environment, PATH: `${environment['PATH'] ?? ''}:${dirname(server)}` },
  })
}
