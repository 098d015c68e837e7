/** Finds the place in the application's own code where an error was thrown. Pure. */

const nodeFrame = /^\s*at (?:.*\()?(.+?):\d+:\d+\)?$/
const javaFrame = /^\s*at (?:[\w.$-]*\/)*([\w$]+(?:\.[\w$<>]+)+)\([^()]*\)$/

/** A dead letter may come from any writer: expressions must not be given megabytes. */
const maxStackCharacters = 64 * 1024
const maxLineCharacters = 1_000

/** Packages of the platform and of frameworks, which throw on behalf of an application. */
const javaLibrary =
  /^(?:java|javax|jdk|sun|com\.sun|jakarta|kotlin|kotlinx|scala|org\.springframework|org\.apache|io\.smallrye|io\.quarkus|io\.vertx|io\.netty|io\.confluent|reactor)\./

/**
 * Returns the first frame of a stack that is neither of the platform nor of a library, without line and column: a file from
 * the last `src/`, `dist/` or `app/` on, or a method of Java. Undefined if there is none.
 */
export function ownFrameOf(stack: string): string | undefined {
  for (const whole of stack.slice(0, maxStackCharacters).split('\n')) {
    const line = whole.slice(0, maxLineCharacters)
    const path = nodeFrame.exec(line)?.[1]
    if (path !== undefined && isOwnPath(path)) return shortened(path)
    const method = javaFrame.exec(line)?.[1]
    if (method !== undefined && !javaLibrary.test(method)) return method
  }
  return undefined
}

function isOwnPath(path: string): boolean {
  return /[\\/]/.test(path) && !path.startsWith('node:') && !/[\\/]node_modules[\\/]/.test(path)
}

function shortened(path: string): string {
  const plain = path
    .replace(/^(?:async )?file:\/\//, '')
    .replaceAll('\\', '/')
    .replace(/[?#].*$/, '')
  const starts = ['/src/', '/dist/', '/app/'].map((folder) => plain.lastIndexOf(folder))
  return plain.slice(Math.max(...starts) + 1)
}
