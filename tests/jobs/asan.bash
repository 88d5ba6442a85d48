# Direct reading under the address sanitizer, all of it but what leaks on purpose.

own asan
need_nightly
host=$(rustc +nightly -vV | sed -n 's/^host: //p')

# The sanitizer knows what libc's calls write to, and nothing of calls that go past libc.
export RUSTFLAGS="-Zsanitizer=address --cfg=rustix_use_libc"
# Not optimised: to build what is direct reading's own, and what lies under it, is most of the work.
sanitized=(cargo +nightly test -p striae --no-default-features --target "$host" --target-dir "$target/asan")
for package in core inspect kit hoomd; do
    sanitized+=(--config "profile.dev.package.striae-$package.opt-level=0")
done
rust_tests "${sanitized[@]}" --lib -- direct::
rust_tests "${sanitized[@]}" --test direct -- --skip forgotten
