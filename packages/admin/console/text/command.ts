/** Texts of commands to bindings. */
export const commandText = {
  title: {
    start: (name: string): string => `Start ${name}`,
    stop: (name: string): string => `Stop ${name}`,
    pause: (name: string): string => `Pause ${name}`,
    resume: (name: string): string => `Resume ${name}`,
  },
  about: {
    start: 'It joins its groups and continues at the committed positions.',
    stop: 'Handlers that run may finish, then it commits and leaves its groups. Records wait in their topics.',
    pause: 'No more records are fetched. It stays in its groups; records wait in their topics and the lag grows.',
    resume: 'Ends the pause of an operator. An open breaker still waits for its probe.',
  },
  send: { start: 'Start', stop: 'Stop', pause: 'Pause', resume: 'Resume' },
  reach: (scope: string, count: number): string =>
    scope === 'FLEET'
      ? `Reaches ${count === 1 ? 'the 1 instance' : `all ${count} instances`}.`
      : 'Reaches this process only.',
  outcome: {
    APPLIED: 'All instances followed.',
    PARTIAL: 'Some instances did not follow:',
  } as Readonly<Record<string, string>>,
  instance: 'Instance',
  answer: 'Answer',
  state: 'State',
  done: 'Done',
} as const
