/** What both pg and mysql2 connections are: emitters of 'error', which without a listener ends the process. */
export interface ErrorEmitter {
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

export interface ErrorWatch {
  /** What the connection broke with, while it was watched. */
  readonly brokenBy: () => Error | undefined
  readonly stop: () => void
}

/** Listens to a connection while it is lent: the pool listens only while it is idle. */
export function watchErrors(connection: ErrorEmitter): ErrorWatch {
  let broken: Error | undefined
  const listener = (error: Error): void => {
    broken ??= error
  }
  connection.on('error', listener)
  return {
    brokenBy: () => broken,
    stop: () => void connection.removeListener('error', listener),
  }
}
