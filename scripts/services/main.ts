/** `npm run services`: starts the real services, prints their addresses, and stops those it started. */

import { type Command, parseCommandLine, usage } from './src/command-line.ts'
import { describeReports, toJsonLines } from './src/report.ts'
import { reasonOf } from './src/service.ts'
import { type ServiceReport, ServiceSet } from './src/service-set.ts'

function runCommand(command: Command): Promise<readonly ServiceReport[]> {
  const services = new ServiceSet({
    scope: command.isPrivate ? 'PRIVATE' : 'SHARED',
    // On stderr, so that stdout holds only the result.
    progress: (service, text) => process.stderr.write(`${service}: ${text}\n`),
  })
  switch (command.action) {
    case 'up':
      return services.up(command.names, command.brokers)
    case 'down':
      return services.down(command.names)
    case 'status':
      return services.status(command.names)
  }
}

try {
  const command = parseCommandLine(process.argv.slice(2), process.env)
  if (command === undefined) process.stdout.write(usage)
  else {
    const reports = await runCommand(command)
    process.stdout.write(command.json ? toJsonLines(reports) : describeReports(reports))
    if (reports.some(({ state }) => state === 'ABSENT' || state === 'UNSUITABLE')) process.exitCode = 1
  }
} catch (error) {
  process.stderr.write(`${reasonOf(error)}\n\n${usage}`)
  process.exitCode = 2
}
